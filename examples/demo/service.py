"""A small service to break: an HTTP server, a worker process that it restarts, and a cache that can be lost.

``python service.py --port 0 --state DIR`` prints ``{"url": …, "pid": …}`` and serves until it is terminated.

- ``GET /health`` answers 200 while the worker's last heartbeat is younger than a second and the cache is there;
  else 503.
- ``POST /cache/drop`` and ``POST /cache/restore`` lose and restore the cache.
- A worker that *dies* is restarted within half a second. A worker that *hangs* is not noticed: that is the bug to find.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

WORKER = """
import os, sys, time
heartbeat = sys.argv[1]
parent = os.getppid()
while os.getppid() == parent:
    with open(heartbeat + ".new", "w") as file:
        file.write(str(time.time()))
    os.replace(heartbeat + ".new", heartbeat)
    time.sleep(0.1)
"""


class Service:
    """The state that requests look at: a supervised worker and a cache file."""

    def __init__(self, state: Path) -> None:
        self.heartbeat = state / "tumult-demo-worker.heartbeat"
        self.cache = state / "cache"
        self.stopping = threading.Event()
        self.worker = self.start_worker()
        self.cache.touch()

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start the process whose heartbeat means that work gets done."""
        return subprocess.Popen([sys.executable, "-c", WORKER, str(self.heartbeat)], stdin=subprocess.DEVNULL)

    def supervise(self) -> None:
        """Restart a worker that died, until told to stop."""
        while not self.stopping.wait(0.2):
            if self.worker.poll() is not None:
                self.worker = self.start_worker()

    def stop(self) -> None:
        """End the supervisor, then the worker."""
        self.stopping.set()
        self.worker.kill()
        self.worker.wait()

    def health(self) -> dict[str, object]:
        """Say how old the last heartbeat is and whether the cache is there."""
        try:
            age = time.time() - float(self.heartbeat.read_text())
        except OSError:
            age = float("inf")
        worker = "alive" if age < 1 else "silent"
        cache = "warm" if self.cache.exists() else "lost"
        return {
            "status": "ok" if (worker, cache) == ("alive", "warm") else "degraded",
            "worker": worker,
            "cache": cache,
        }


def handler(service: Service) -> type[http.server.BaseHTTPRequestHandler]:
    """Bind the request handler to one service."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, status: int, body: dict[str, object]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            health = service.health()
            known = self.path == "/health"
            self.answer(404 if not known else 200 if health["status"] == "ok" else 503, health if known else {})

        def do_POST(self) -> None:
            if self.path == "/cache/drop":
                service.cache.unlink(missing_ok=True)
            elif self.path == "/cache/restore":
                service.cache.touch()
            else:
                return self.answer(404, {})
            return self.answer(200, service.health())

        def log_message(self, *_: object) -> None:
            """Keep the demo's output to itself."""

    return Handler


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--state", type=Path, required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    service = Service(options.state)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), handler(service))
    threading.Thread(target=service.supervise, daemon=True).start()
    while service.health()["status"] != "ok":
        time.sleep(0.02)
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}", "pid": os.getpid()}), flush=True)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    finally:
        service.stop()


if __name__ == "__main__":
    main()
