"""``example-agent``: an agent CLI without a model, which always proposes the same small experiment.

    example-agent --version
    example-agent auth status --json
    example-agent run --json [--model=NAME] < PROMPT

It answers with one JSON object, ``{"text", "model", "usage"}`` or ``{"error"}``.
Exit codes: 0 done, 1 failed, 2 wrong use.
"""

from __future__ import annotations

import json
import os
import sys

VERSION = "0.1.0"

RECOMMENDATIONS = """\
## Recommendations

1. [new] Take eight megabytes of scratch space away and see that work goes on. It cannot hurt, it is undone by deleting
   one file, and it shows that experiments run here at all.
"""

EXPERIMENT = """\
title: Scratch space shrinks by eight megabytes
description: Fill a file in the temporary folder, see that the folder can still be written to, and delete the file
tags[2]: example, disk

steady_state_hypothesis:
  title: The temporary folder can be written to
  probes[1]:
    - name: temporary-folder-is-writable
      activity_type: probe
      provider:
        type: process
        path: sh
        arguments[2]: "-c", "test -w /tmp && echo ready"
        timeout_s: 5
      tolerance:
        type: regex
        pattern: ready

method[3]:
  - name: fill-a-file
    activity_type: action
    provider:
      type: process
      path: dd
      arguments[4]: if=/dev/zero, of=/tmp/tumult-example.fill, bs=1048576, count=8
      timeout_s: 30
  - name: folder-is-still-writable
    activity_type: probe
    provider:
      type: process
      path: sh
      arguments[2]: "-c", "test -w /tmp && echo ready"
      timeout_s: 5
    tolerance:
      type: regex
      pattern: ready
  - name: delete-the-file
    activity_type: action
    provider:
      type: process
      path: rm
      arguments[2]: "-f", /tmp/tumult-example.fill
      timeout_s: 5

rollbacks[1]:
  - name: delete-the-file-after-all
    activity_type: action
    provider:
      type: process
      path: rm
      arguments[2]: "-f", /tmp/tumult-example.fill
      timeout_s: 5
"""


def main() -> int:
    """Do what the arguments say and give the exit code."""
    match sys.argv[1:]:
        case ["--version"]:
            print(f"example-agent {VERSION}")
            return 0
        case ["auth", "status", "--json"]:
            print(json.dumps({"signed_in": not os.environ.get("EXAMPLE_AGENT_SIGNED_OUT")}))
            return 0
        case ["run", "--json", *options] if all(option.startswith("--model=") for option in options):
            return run(options[-1].removeprefix("--model=") if options else "example-1")
    print("usage: example-agent --version | auth status --json | run --json [--model=NAME]", file=sys.stderr)
    return 2


def run(model: str) -> int:
    """Answer the prompt on stdin."""
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt.strip():
        print(json.dumps({"error": "the prompt is blank"}))
        return 1
    text = answer(prompt)
    usage = {"input_tokens": len(prompt.split()), "output_tokens": len(text.split())}
    print(json.dumps({"text": text, "model": model, "usage": usage}))
    return 0


def answer(prompt: str) -> str:
    """Give what a model would say; the experiment only where the prompt asks for such documents."""
    return f"{RECOMMENDATIONS}\n```toon\n{EXPERIMENT}```\n" if "tagged `toon`" in prompt else RECOMMENDATIONS


if __name__ == "__main__":
    sys.exit(main())
