"""Run ``tumult``, also as ``python -m tumult_core``."""

import sys

INTERRUPTED = 130


def run() -> int:
    """Run ``tumult`` and give its exit code, also where it is interrupted while it still loads."""
    try:
        from tumult_core._cli.main import main

        return main()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
