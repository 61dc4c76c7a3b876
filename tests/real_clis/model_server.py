"""A scripted model server on the loopback: as much of two wire protocols as the real CLIs need for one answer.

Anthropic Messages (``POST …/messages``) and OpenAI Responses (``POST …/responses``), both streamed. What it does is a word:

text, empty, huge, badutf8      an answer of that kind
refusal, truncated              an answer that the model did not finish
tool                            first a call of a shell with ``command``, then the text
401, 429, 500, …                that status
nomodel                         404, no such model
stall                           the request is read and never answered
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = "Hello from the model."
HUGE = "\n".join(hashlib.sha256(b"%d" % number).hexdigest() for number in range(5_000_000 // 65))
"""Five megabytes, no two lines alike: some CLIs look for loops in an answer."""
RAW = "@RAW@"
BAD_BYTES = b"\xe9\xff\xfe"

TEXTS = {"empty": "", "huge": HUGE, "badutf8": f"caf{RAW} end", "truncated": "Hello fr", "refusal": ""}
SHELLS = ("Bash", "exec_command", "shell_command", "shell", "exec")
PIECE = 60_000

Event = dict[str, Any]


class ModelServer:
    """The server in a thread.

    Attributes:
        word: what it does.
        command: what ``tool`` runs.
        bodies: of the model calls so far.
    """

    def __init__(self) -> None:
        self.word = "text"
        self.command = "true"
        self.bodies: list[str] = []
        self.stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, without a version path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    model: ModelServer

    def log_message(self, *args: Any) -> None:
        del args

    def do_GET(self) -> None:
        if "upgrade" in self.headers:  # no WebSocket here
            self._send(426, {"error": {"message": "plain HTTP only"}})
        else:
            self._send(200, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        with contextlib.suppress(ConnectionError):
            if path.endswith(("/messages", "/responses")):
                self.model.bodies.append(data.decode())
                self._answer(path.rpartition("/")[2], json.loads(data))
            else:
                self._send(200, {"input_tokens": 1})

    def _answer(self, protocol: str, body: Any) -> None:
        word = self.model.word
        if word == "stall":
            self.model.stopped.wait(120)
        elif word.isdigit():
            kinds = {"401": "authentication_error", "429": "rate_limit_error"}
            error = {"type": kinds.get(word, "api_error"), "message": f"status {word} it is"}
            self._send(int(word), {"type": "error", "error": error})
        elif word == "nomodel":
            words = f"The model `{body['model']}` does not exist"
            error = {"type": "not_found_error", "code": "model_not_found", "message": words}
            self._send(404, {"type": "error", "error": error})
        else:
            turn = _Turn(word, body, self.model.command)
            self._stream(turn.messages() if protocol == "messages" else turn.responses())

    def _send(self, status: int, body: Event) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[Event]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self.wfile.write(text.encode().replace(RAW.encode(), BAD_BYTES))


class _Turn:
    """What the model says to one request, in the two protocols."""

    def __init__(self, word: str, body: Any, command: str) -> None:
        self.word, self.body, self.command = word, body, command
        self.text = TEXTS.get(word, TEXT)
        self.tool = next((name for name in SHELLS if name in _tools(body)), None) if word == "tool" else None
        if self.tool and _ran_a_tool(body):
            self.tool = None

    def messages(self) -> Iterator[Event]:
        """Stream an Anthropic message."""
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.body["model"], "content": []}
        yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
        if self.tool:
            block: Event = {"type": "tool_use", "id": "toolu_1", "name": self.tool, "input": {}}
            given = json.dumps({"command": self.command, "description": "run it"})
            yield from self._block(block, [{"type": "input_json_delta", "partial_json": given}])
        elif self.text:
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(self.text)]
            yield from self._block({"type": "text", "text": ""}, deltas)
        stop = {"refusal": "refusal", "truncated": "max_tokens"}.get(self.word, "tool_use" if self.tool else "end_turn")
        yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}

    def _block(self, block: Event, deltas: list[Event]) -> Iterator[Event]:
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}

    def responses(self) -> Iterator[Event]:
        """Stream an OpenAI response."""
        response: Event = {"id": "resp_1", "object": "response", "model": self.body["model"], "output": []}
        yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
        for number, item in enumerate(self._items()):
            yield {
                "type": "response.output_item.added",
                "output_index": number,
                "item": {**item, "status": "in_progress"},
            }
            for piece in _pieces(self.text) if item["type"] == "message" and self.text else ():
                at = {"item_id": "msg_1", "output_index": number, "content_index": 0}
                yield {"type": "response.output_text.delta", **at, "delta": piece}
            yield {"type": "response.output_item.done", "output_index": number, "item": item}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
        status = "incomplete" if self.word == "truncated" else "completed"
        reason = {"reason": "max_output_tokens"} if self.word == "truncated" else None
        whole = {**response, "status": status, "usage": usage, "incomplete_details": reason}
        yield {"type": f"response.{status}", "response": whole}

    def _items(self) -> list[Event]:
        if self.tool == "exec":  # JavaScript that calls the real tool
            code = f"text(await tools.exec_command({json.dumps({'cmd': self.command})}));"
            return [{"type": "custom_tool_call", "id": "fc_1", "call_id": "call_1", "name": "exec", "input": code}]
        if self.tool:
            given = json.dumps({"cmd": self.command, "command": self.command})
            return [{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": self.tool, "arguments": given}]
        content: Event = {"type": "output_text", "text": self.text, "annotations": []}
        if self.word == "refusal":
            content = {"type": "refusal", "refusal": "No."}
        elif not self.text:
            return []
        return [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [content]}]


def _tools(body: Any) -> set[str]:
    """Give the names of the tools that a request offers; Codex sends them as an item of its input, in groups."""
    offered = list(body.get("tools") or [])
    for item in body.get("input") or []:
        offered += (item.get("tools") or []) if item.get("type") == "additional_tools" else []
    return {each.get("name") or each.get("type") for tool in offered for each in tool.get("tools") or [tool]}


def _ran_a_tool(body: Any) -> bool:
    parts = [part for message in body.get("messages") or [] for part in message["content"] if isinstance(part, dict)]
    kinds = [str(part.get("type")) for part in (*parts, *(body.get("input") or []))]
    return any(kind == "tool_result" or kind.endswith("_call_output") for kind in kinds)


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
