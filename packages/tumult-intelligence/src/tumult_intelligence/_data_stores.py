"""Subcommands that destroy data or infrastructure, by program: databases, containers, clusters and clouds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tumult_intelligence._shell import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tumult_intelligence._commands import Command

SQL_CLIENTS = frozenset(
    {"psql", "mysql", "mariadb", "sqlite3", "duckdb", "clickhouse-client", "clickhouse", "cqlsh", "mongo", "mongosh"}
    | {"sqlcmd", "usql", "pgcli", "mycli", "bq", "snowsql", "cockroach", "trino", "beeline", "impala-shell", "sqlplus"}
)
_NARROW = re.compile(r"\bwhere\s+(?!true\b|1\b|'?(\w+)'?\s*=\s*'?\1'?)", re.IGNORECASE)
_SQL = re.compile(
    r"\bdrop\s+(?:database|table|schema|keyspace|user|role|owned|view|index|column|materialized|tablespace|type|sequence)\b"
    r"|(?:^|;)\s*truncate\s|\bcopy\b[^;]*\bto\s+program\b|\bcopy\b[^;]*\bfrom\s+program\b|\\!|\\o\s*\||\binto\s+outfile\b"
    r"|\bdropDatabase\b|\.drop\s*\(|\.remove\s*\(|deleteMany\s*\(\s*\{\s*\}|\.system\b|\.shell\b|\\copy\b[^;]*\bprogram\b"
    r"|(?:^|;)\s*drop\s+\w|\balter\s+table\b[^;]*\bdrop\b",
    re.IGNORECASE,
)
_DELETE = re.compile(r"(?:^|[;(])\s*(?:with\b[^;]*\)\s*)?delete\s+from\b[^;]*", re.IGNORECASE)
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_REDIS = re.compile(r"^\s*(?:flushall|flushdb|shutdown\s+nosave|debug\s+flushall)\b", re.IGNORECASE | re.MULTILINE)
_REDIS_VALUES = frozenset({"-h", "-p", "-s", "-a", "-u", "-r", "-i", "-n", "--user", "--pass", "-t"})
_KUBE_VALUES = frozenset(
    {"-n", "--namespace", "-l", "--selector", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server"}
    | {"--grace-period", "--timeout", "--field-selector", "--as", "--token", "-o", "--output", "--cascade", "--wait"}
)
_KUBE_HARMLESS = frozenset({"pod", "pods", "po", "job", "jobs", "event", "events", "lease", "networkchaos", "podchaos"})

_CONTAINER_VERBS = (
    ("system", "prune"),
    ("system", "reset"),
    ("volume", "rm"),
    ("volume", "remove"),
    ("volume", "prune"),
    ("image", "rm"),
    ("image", "prune"),
    ("rmi",),
)
_INFRASTRUCTURE = (("destroy",), ("apply", "-destroy"), ("apply", "--destroy"), ("state", "rm"))
_VERBS: dict[str, tuple[tuple[str, ...], ...]] = {
    "docker": _CONTAINER_VERBS,
    "podman": _CONTAINER_VERBS,
    "nerdctl": _CONTAINER_VERBS,
    "helm": (("uninstall",), ("delete",), ("del",), ("un",)),
    "terraform": _INFRASTRUCTURE,
    "tofu": _INFRASTRUCTURE,
    "terragrunt": _INFRASTRUCTURE,
    "pulumi": (("destroy",), ("stack", "rm")),
    "aws": (("s3", "rm"), ("s3", "rb"), ("s3", "mv"), ("dynamodb", "delete-table"), ("ec2", "terminate-instances")),
    "gcloud": (("delete",),),
    "az": (("delete",),),
    "gsutil": (("rm",), ("rb",), ("-m", "rm")),
    "zpool": (("destroy",), ("labelclear",)),
    "zfs": (("destroy",),),
    "git": (("clean",), ("reset", "--hard"), ("rm",), ("checkout", "."), ("checkout", "--")),
    "cryptsetup": (("luksFormat",), ("erase",), ("luksErase",)),
    "nvme": (("format",), ("sanitize",)),
    "crontab": (("-r",),),
    "userdel": (("-r",), ("--remove",)),
    "rabbitmqctl": (("reset",), ("force_reset",), ("delete_vhost",), ("delete_queue",)),
    "etcdctl": (("del",),),
    "kafka-topics": (("--delete",),),
    "kafka-topics.sh": (("--delete",),),
    "consul": (("kv", "delete"),),
    "mysqladmin": (("drop",),),
    "rclone": (("delete",), ("purge",), ("sync",)),
    "lxc": (("delete",),),
    "virsh": (("undefine",), ("vol-delete",)),
}


def destroys(command: Command) -> bool:
    """Tell whether a command destroys data that no rollback brings back."""
    name, arguments = command.name, command.arguments
    if name in SQL_CLIENTS:
        return any(
            _destroys_sql(text) for text in (*arguments, " ".join(arguments), *command.stdin.split("\n"), command.stdin)
        )
    if name == "redis-cli":
        return _destroys_redis(" ".join(_after_options(arguments, _REDIS_VALUES)), command.stdin)
    return _destroys_infrastructure(name, arguments)


def _destroys_infrastructure(name: str, arguments: tuple[str, ...]) -> bool:
    if name in {"kubectl", "oc"}:
        return _destroys_objects(arguments)
    if name == "rsync":
        return any(re.match(r"--(?:del|remove)", word) for word in arguments)
    if name == "aws" and any(word.startswith(("delete-", "terminate-")) for word in _operands(arguments)[1:2]):
        return True
    is_container = name in {"docker", "podman", "nerdctl", "docker-compose", "podman-compose"}
    if is_container and _takes_volumes(name, arguments):
        return True
    return any(_has(arguments, verbs) for verbs in _VERBS.get(name, ()))


def destroys_text(text: str) -> bool:
    """Tell whether a statement for a database or Redis destroys data."""
    return _destroys_sql(text) or bool(_REDIS.search(text))


def _destroys_redis(said: str, stdin: str) -> bool:
    script = stdin if not said.lower().startswith("eval") else f"{said} {stdin}"
    return bool(_REDIS.search(said) or re.search(r"\bflush(?:all|db)\b", script, re.IGNORECASE))


def _destroys_sql(text: str) -> bool:
    # A server runs what such a comment holds; other comments, and values, say nothing to it.
    if re.search(r"/\*!", text):
        return True
    said = _LITERAL.sub("''", _COMMENT.sub(" ", re.sub(r"^(?:--?\w[\w-]*=?|echo|printf)\s*['\"]?", "", text)))
    if _SQL.search(said):
        return True
    return any(not _NARROW.search(match[0]) or ACTIVE in match[0].split("where")[0] for match in _DELETE.finditer(said))


def _after_options(arguments: tuple[str, ...], values: frozenset[str]) -> list[str]:
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in values and rest:
            rest.pop(0)
    return rest


def _operands(arguments: tuple[str, ...], values: frozenset[str] = frozenset()) -> list[str]:
    found, skip = [], False
    for word in arguments:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in values
        else:
            found.append(word)
    return found


def _destroys_objects(arguments: tuple[str, ...]) -> bool:
    verb, *rest = _operands(arguments, _KUBE_VALUES) or [""]
    if verb == "replace" and "--force" in arguments:
        return True
    if verb != "delete":
        return False
    if any(re.match(r"--all\b|-A$|-f|--filename|-k|--kustomize", word) for word in arguments):
        return True
    return not set(_kinds(rest)) <= _KUBE_HARMLESS


def _kinds(words: list[str]) -> Iterator[str]:
    if not words:
        yield "nothing"
    elif any("/" in word for word in words):
        yield from (word.partition("/")[0].partition(".")[0] for word in words)
    else:
        yield from (kind.partition(".")[0] for kind in words[0].split(","))


def _takes_volumes(name: str, arguments: tuple[str, ...]) -> bool:
    compose = name.endswith("-compose") or "compose" in arguments
    down = {"down", "rm"} & set(arguments)
    takes = any(re.match(r"-[a-z]*v|--volumes|--rmi", word) for word in arguments)
    return bool(down) and takes and (compose or arguments[:1] == ("rm",) or arguments[:2] == ("container", "rm"))


def _has(arguments: tuple[str, ...], verbs: tuple[str, ...]) -> bool:
    words = {word.partition("=")[0] for word in arguments}
    return words.issuperset(verbs)
