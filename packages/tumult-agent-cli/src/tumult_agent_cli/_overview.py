"""What is installed and what each adapter finds, as rows: the data behind ``tumult agents``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tumult_agent_cli._text import mask, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tumult_agent_cli._detect import Detection
    from tumult_agent_cli.adapter import AgentCliAdapter
    from tumult_agent_cli.registry import AdapterEntry, AdapterRegistry
    from tumult_agent_cli.values import CliProbe

SCHEMA = 1


class Row(NamedTuple):
    """One adapter, or one thing that is wrong with what is installed; all text is cleaned.

    Attributes:
        distribution, plugin_version, path: of the plugin.
        state: as of ``AdapterEntry``.
        installed, version, logged_in, bin_path: of the CLI; None where it is not known.
        detail: one line for a person.
        reason: what is wrong with the plugin; empty where nothing is.
        hint: what to do about that, or about a CLI that is not installed or not signed in.
    """

    name: str
    distribution: str
    plugin_version: str
    path: str
    state: str
    installed: bool | None
    version: str | None
    logged_in: bool | None
    bin_path: str | None
    detail: str
    reason: str
    hint: str

    @property
    def is_adapter(self) -> bool:
        """Tell an adapter from a remark on what is installed."""
        return self.state not in {"duplicate", "unmatched", "notice"}

    @property
    def warning(self) -> str:
        """Say on one line what is wrong; empty where nothing is."""
        if not self.reason or self.state == "disabled":
            return ""
        return f"{self.subject}: {self.complaint}"

    @property
    def complaint(self) -> str:
        """Give what is wrong with the remedy at its end."""
        return f"{self.reason} ({self.hint})" if self.hint else self.reason

    @property
    def origin(self) -> str:
        """Give distribution and version of the plugin."""
        return f"{self.distribution} {self.plugin_version}".strip()

    @property
    def subject(self) -> str:
        """Say what the row is about."""
        if not self.name or self.state == "unmatched":
            return self.origin or "agent adapters"
        return f"adapter {self.name} of {self.origin}"


def survey(registry: AdapterRegistry, *, probe: bool) -> tuple[Row, ...]:
    """List what is installed, by name.

    Args:
        registry: the adapters.
        probe: import each and ask its CLI; without it, nothing is imported and nothing is known but names.
    """
    entries = registry.entries(load=probe)
    return tuple(map(_row, entries, _detections(entries)))


def _detections(entries: Sequence[AdapterEntry]) -> list[Detection | None]:
    """Give what each entry's adapter found, or None where it has none."""
    adapters = [entry.adapter for entry in entries if entry.adapter is not None]
    if not adapters:
        return [None] * len(entries)
    from tumult_agent_cli._detect import detect_all

    found = iter(detect_all(adapters))
    return [None if entry.adapter is None else next(found) for entry in entries]


def _row(entry: AdapterEntry, detection: Detection | None) -> Row:
    probe, fault = detection or (None, "")
    row = Row(
        name=_clean(entry.name),
        distribution=_clean(entry.distribution),
        plugin_version=_clean(entry.version),
        path=_clean(entry.path),
        state=entry.state,
        installed=None if probe is None else probe.installed,
        version=None if probe is None else probe.version,
        logged_in=None if probe is None else probe.logged_in,
        bin_path=None if probe is None else probe.bin_path,
        detail="",
        reason=_clean(entry.reason or fault),
        hint=_clean(entry.hint or _remedy(entry.adapter, probe)),
    )
    return row._replace(detail=_detail(row, "" if probe is None else probe.detail))


def _remedy(adapter: AgentCliAdapter | None, probe: CliProbe | None) -> str:
    """Say what to do about a CLI that cannot be asked."""
    if adapter is None:
        return ""
    if probe is None:
        return f"tumult agents check {adapter.name}"
    if not probe.installed:
        return adapter.install_hint
    return adapter.auth_hint if probe.logged_in is False else ""


def _detail(row: Row, said: str) -> str:
    """Say what a person wants to know next: what is wrong and what to do, else what the CLI says."""
    if row.state == "listed":
        return "not asked"
    if row.state != "ready" or row.reason:
        return f"{row.origin}: {row.complaint}" if row.origin else row.complaint
    if not row.installed or row.logged_in is False:
        return f"{said or ('not signed in' if row.installed else 'not installed')}: {row.hint}"
    return said or ("signed in" if row.logged_in else "sign-in not known")


def _clean(text: str) -> str:
    return one_line(mask(text))


def as_json(rows: Sequence[Row], *, probed: bool) -> str:
    """Give the rows as a JSON document, the same bytes for the same state.

    Shape: ``{"schema": 1, "probed": bool, "adapters": [{name, distribution, plugin_version, path, state, installed,
    version, logged_in, bin_path, detail, reason, hint}], "problems": [{kind, name, distribution, plugin_version, path,
    reason, hint}]}``; unknown values are null. A problem is anything with a reason, that of a broken adapter too.
    """
    import json

    problems = [
        {
            "kind": "probe" if row.state == "ready" else row.state,
            "name": row.name,
            "distribution": row.distribution,
            "plugin_version": row.plugin_version,
            "path": row.path,
            "reason": row.reason,
            "hint": row.hint,
        }
        for row in rows
        if row.warning
    ]
    adapters = [row._asdict() for row in rows if row.is_adapter]
    return json.dumps({"schema": SCHEMA, "probed": probed, "adapters": adapters, "problems": problems}, indent=2)
