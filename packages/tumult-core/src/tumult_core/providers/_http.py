"""The ``http`` provider: one request, bounded in time and size."""

from __future__ import annotations

import codecs
import json
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tumult_core._output import cut, parse_output
from tumult_core._subprocess import MAX_OUTPUT_BYTES
from tumult_core._text import MASK
from tumult_core.journal import ActivityStatus
from tumult_core.providers._values import Call, Identity, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from tumult_core.catalog import Catalog
    from tumult_core.experiment import HttpProvider

DEFAULT_TIMEOUT_S = 30.0
# The first status code that is an error: what a step without a tolerance must not be answered with.
_ERROR = 400
# Shorter header values are too likely to be something else wherever they occur.
_MIN_SECRET = 6

# Encodings of the WHATWG's standard, by Python's names for them.
_TEXT_ENCODING = re.compile(
    r"ascii|utf-8(-sig)?|utf-16(-[lb]e)?|iso8859-\d+|cp(125\d|866|874|949|932)|koi8-[ru]|mac-(roman|cyrillic)"
    r"|gbk|gb2312|gb18030|big5(hkscs)?|euc_(jp|kr)|shift_jis|iso2022_jp"
)

# Headers that carry credentials, in requests and in answers.
SENSITIVE = frozenset(
    {"authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key", "x-auth-token", "x-csrf-token"}
)


def describe(provider: HttpProvider, _catalog: Catalog) -> Identity:
    """Say what would be requested."""
    arguments: dict[str, Any] = {"url": provider.url}
    if provider.headers:
        arguments["headers"] = _shown(provider.headers)
    if provider.body is not None:
        arguments["body"] = provider.body
    values = [value for name, value in provider.headers.items() if name.lower() in SENSITIVE]
    parts = (part for value in values for part in (value, value.rpartition(" ")[2]))
    secrets = tuple(part for part in parts if len(part) >= _MIN_SECRET)
    return Identity("http", None, provider.method.upper(), arguments, secrets, DEFAULT_TIMEOUT_S)


def execute(provider: HttpProvider, call: Call) -> Outcome:
    """Send the request and read the answer, at most so many bytes of it.

    An answer is success: its tolerance judges it. Without one, a status code that is an error fails the step.
    """
    import asyncio

    return asyncio.run(_execute(provider, call))


async def _execute(provider: HttpProvider, call: Call) -> Outcome:
    import asyncio

    import httpx

    loop, task = asyncio.get_running_loop(), asyncio.create_task(_request(provider))

    def cancel() -> None:
        with suppress(RuntimeError):  # the loop is closed: the request was over before the cancellation came here
            loop.call_soon_threadsafe(task.cancel)

    try:
        with call.cancellation.subscribed(cancel):
            async with asyncio.timeout(call.timeout_s):
                output = await task
    except TimeoutError:
        return Outcome(ActivityStatus.TIMEOUT, error=f"no complete answer within {call.timeout_s:g} s")
    except asyncio.CancelledError:
        return Outcome(ActivityStatus.CANCELLED, error="cancelled")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Outcome.failed(_reason(error, provider))
    return _outcome(output, call)


def _outcome(output: dict[str, Any], call: Call) -> Outcome:
    kept = {**output, "headers": _shown(output["headers"])}
    if output["status"] >= _ERROR and not call.judged:
        error = f"answered with {output['status']}, and the step has no tolerance that accepts it"
        return Outcome(ActivityStatus.FAILED, output, error=error, kept=kept)
    return Outcome(ActivityStatus.SUCCEEDED, output, kept=kept)


async def _request(provider: HttpProvider) -> dict[str, Any]:
    import httpx

    body, headers = _body(provider)
    # The step's own limit is on the whole exchange; httpx only knows limits on its parts.
    options: dict[str, Any] = {"timeout": None, "verify": provider.verify_tls}
    started = time.monotonic()
    async with (
        httpx.AsyncClient(follow_redirects=provider.follow_redirects, **options) as client,
        client.stream(provider.method.upper(), provider.url, headers=headers, content=body) as response,
    ):
        text = await _text(response)
    return {
        "status": response.status_code,
        "headers": dict(response.headers),
        "body": parse_output(text),
        "elapsed_ms": round((time.monotonic() - started) * 1000, 3),
    }


def _body(provider: HttpProvider) -> tuple[bytes | None, dict[str, str]]:
    """Give the body's bytes, and the headers: text as it is, everything else as JSON with its content type."""
    headers = dict(provider.headers)
    if provider.body is None:
        return None, headers
    if isinstance(provider.body, str):
        return provider.body.encode(), headers
    if not any(name.lower() == "content-type" for name in headers):
        headers["content-type"] = "application/json"
    return json.dumps(provider.body).encode(), headers


async def _text(response: httpx.Response) -> str:
    """Read the body up to the limit, and say where it was cut."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_OUTPUT_BYTES:
            break
    text = data[:MAX_OUTPUT_BYTES].decode(_encoding(response), "replace")
    return text if len(data) <= MAX_OUTPUT_BYTES else cut(text, f"what follows the first {MAX_OUTPUT_BYTES:,} bytes")


def _encoding(response: httpx.Response) -> str:
    """Give the encoding that the answer declares, if it is one of the web's; Python knows others that take for ever."""
    try:
        name = codecs.lookup(response.charset_encoding or "utf-8").name
    except (LookupError, ValueError):
        return "utf-8"
    return name if _TEXT_ENCODING.fullmatch(name) else "utf-8"


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: MASK if name.lower() in SENSITIVE else value for name, value in headers.items()}


def _reason(error: Exception, provider: HttpProvider) -> str:
    """Say what kept the answer away."""
    import httpx

    what = "could not connect to" if isinstance(error, httpx.ConnectError) else "no answer from"
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
        what = "cannot request"
    return f"{what} {provider.url}: {_root(error) or type(error).__name__}"


def _root(error: BaseException) -> str:
    """Give the system's own words, which the client wraps several times."""
    words = str(error)
    cause = error
    while inner := cause.__cause__ or cause.__context__:
        cause = inner.exceptions[0] if isinstance(inner, BaseExceptionGroup) else inner
        if isinstance(cause, OSError):
            words = os.strerror(cause.errno) if cause.errno and cause.errno > 0 else str(cause)
    return words
