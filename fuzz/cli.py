"""The command line: thin, since every command is a function that tests call too.

Exit codes: 0 nothing found, 1 findings, 2 wrong usage or a target that cannot start, 3 a failure of
Wirefence itself. stdout holds the report, stderr everything else.
"""

from __future__ import annotations

import importlib
import io
import sys

import click
from rich.console import Console

from fuzz.errors import OWN_FAILURE, USAGE, UsageError
from targets.errors import TargetError

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS = (
    "campaign",
    "fuzz",
    "explain",
    "minimize",
    "replay",
    "crashes",
    "nightly",
    "quirks",
    "bench",
    "compare",
    "gate",
)
"""Names of the commands: each is ``command`` in the module of that name in ``fuzz.commands``."""


class _Lazy(click.Group):
    """A group that imports a command when it is called: one without a gateway needs no parsers."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's form
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(f"fuzz.commands.{cmd_name}").command
        assert isinstance(found, click.Command)
        return found


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="wirefence")
def cli() -> None:
    """Find bytes that should be rejected and act, and texts that parsers read differently."""


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that is no UTF-8 still gets its text
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(standalone_mode=False)
    except UsageError as error:
        code = _complain(USAGE, error.cause, error.hint)
    except TargetError as error:
        code = _complain(USAGE, str(error.cause), str(error.hint))
    except click.exceptions.Abort:
        code = _complain(USAGE, "interrupted", "what was found so far is on disk")
    except click.ClickException as error:
        code = _complain(USAGE, error.format_message(), "see --help")
    except SystemExit as error:
        code = _complain(USAGE, f"a target ended the process ({error.code})", "see its module")
    except Exception as error:  # noqa: BLE001 - the last place that can say whose fault it is
        Console(stderr=True).print_exception(show_locals=False)
        code = _complain(OWN_FAILURE, f"{type(error).__name__}: {error}", "please report this")
    sys.exit(code)


def _complain(code: int, cause: str, hint: str) -> int:
    click.echo(f"wirefence: {cause}; {hint}", err=True)
    return code
