"""The command line: loads one command, runs it, and turns errors into messages and exit codes.

Exit codes: 0 nothing found, 1 findings, 2 wrong usage, a target that cannot start or a report that
cannot be written, 3 a failure of Wirefence itself. stdout holds the report, stderr everything else.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from pathlib import Path

import click

from wirefence.fuzz.errors import (
    OWN_FAILURE,
    USAGE,
    StartError,
    UsageError,
    make_missing_module_error,
)
from wirefence.fuzz.processes.signals import INTERRUPTED, exit_on_signals, interrupt_on_signals
from wirefence.fuzz.processes.stdio import protect_streams
from wirefence.targets.errors import TargetError

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS = {
    "campaign": "Run generated cases against parsers and gateways; exit 1 for new findings.",
    "fuzz": "Run a coverage-guided libFuzzer target; exit 1 for new findings.",
    "explain": "Show how the judge, each parser and the gateway read FILE ('-' for stdin).",
    "minimize": "Shrink findings; each keeps the fault that it shows.",
    "replay": "Replay reproducers: FIXED, STILL FAILING, CHANGED or ERROR for each.",
    "crashes": "List, show, add, commit, mark and prune reproducers.",
    "nightly": "Replay reproducers, run a campaign, and minimize new findings; can commit them.",
    "quirks": "Probe the quirks of the installed parsers and compare them with the stored ones.",
    "compare": "Compare parsers: does any input change its meaning from OLD to NEW?",
    "gate": "Test a stdio server: send it invalid input and check that nothing acts on it.",
}
"""The commands and what ``--help`` shows for each without importing it.

Each is ``command`` in the module of its name in ``wirefence.fuzz.commands``.
"""


_MAX_MESSAGE = 600
"""Characters of an error's cause that are printed; the middle of a longer one is cut."""


class _LazyGroup(click.Group):
    """A group that imports a command when it is called: most commands need no parsers."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's form
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        _check_working_folder()
        try:
            with exit_on_signals():
                found = importlib.import_module(f"wirefence.fuzz.commands.{cmd_name}").command
                importlib.import_module("wirefence.fuzz.self_check").check_readers()
        except ModuleNotFoundError as error:
            raise make_missing_module_error(error) from error
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _check_working_folder() -> None:
    """Raise UsageError if the working folder was removed, which breaks every child process."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the working folder was removed", "change to another one") from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="wirefence")
def cli() -> None:
    """Find input that JSON-RPC servers act on but must reject, or that parsers read differently."""


def main() -> None:
    """Run the command line and exit with its code."""
    protect_streams()
    try:
        with interrupt_on_signals():
            code = cli.main(standalone_mode=False)
    except (UsageError, TargetError) as error:
        code = _print_error(USAGE, str(error.cause), str(error.hint))
    except StartError as error:
        code = _print_error(OWN_FAILURE, error.cause, error.hint)
    except (click.exceptions.Abort, KeyboardInterrupt):
        code = _print_error(USAGE, *INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = USAGE
    except click.ClickException as error:
        # click lists choices below each other
        said = error.format_message().replace("\n\t", " ")
        code = _print_error(USAGE, said.rstrip("."), "see --help")
    except SystemExit as error:
        code = _print_error(USAGE, f"a target ended the process ({error.code})", "see its module")
    except OSError as error:
        code = _report_os_error(error)
    except Exception as error:  # noqa: BLE001 - every other error is our own failure
        code = _report_own_failure(error)
    sys.exit(code)


_PATH_ERRORS = {
    errno.EACCES, errno.EDQUOT, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOSPC, errno.ENOTDIR,
    errno.EPERM, errno.EROFS,
}  # fmt: skip
"""Errors that mean a problem of a path that was given, and not a failure of Wirefence."""


def _report_os_error(error: OSError) -> int:
    if error.filename is None or error.errno not in _PATH_ERRORS:
        return _report_own_failure(error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    return _print_error(
        USAGE, f"cannot use {name}: {error.strerror}", "check the path and the disk"
    )


def _report_own_failure(error: Exception) -> int:
    traceback.print_exception(error)
    return _print_error(OWN_FAILURE, f"{type(error).__name__}: {error}", "please report this")


def _print_error(code: int, cause: str, hint: str) -> int:
    """Print cause and hint on one line, without control characters; cut a long cause."""
    shown = (
        cause
        if len(cause) <= _MAX_MESSAGE
        else f"{cause[: _MAX_MESSAGE // 2]} ... {cause[-_MAX_MESSAGE // 2 :]}"
    )
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in f"{shown}; {hint}")
    click.echo(f"wirefence: {text}", err=True)
    return code
