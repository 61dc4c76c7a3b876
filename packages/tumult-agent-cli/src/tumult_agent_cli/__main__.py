"""``python -m tumult_agent_cli``: what ``tumult agents`` does, without the rest of Tumult."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code: 0 done, 1 failed, 2 wrong use, 130 interrupted."""
    from tumult_agent_cli._cli.agents import command
    from tumult_agent_cli._text import one_line
    from tumult_agent_cli.exceptions import AgentCliError

    try:
        result = command.main(argv, prog_name="python -m tumult_agent_cli", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except AgentCliError as error:
        click.echo(f"Error: {one_line(str(error))}", err=True)
        return int(getattr(error, "exit_code", 1))
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read stdout is gone; without this Python complains about it at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
