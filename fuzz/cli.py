"""The command line: thin, since every command is a function that tests call too.

Exit codes: 0 nothing found, 1 findings, 2 wrong usage or a target that cannot start, 3 a failure of
Wirefence itself. stdout holds the report, stderr everything else.
"""

from __future__ import annotations

import io
import math
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from fuzz import bench as benchmarks
from fuzz.campaign import PATIENCE, Budget, campaign
from fuzz.drivers import corpus, hypothesis_cases
from fuzz.errors import FOUND, NOTHING, OWN_FAILURE, USAGE, UsageError
from fuzz.events import Event, Finished, Found, Listener
from fuzz.explain import explain_apart
from fuzz.plan import DEFAULT_TARGETS, Plan, build
from fuzz.probe import probe
from fuzz.report import as_json, as_table, fan_out, live, plain
from fuzz.store import Store, case_from_bytes, read_case
from oracles import quirks
from strategies.records import VERSIONS, Case
from targets.errors import TargetError
from targets.parsers.configs import library_versions

__all__ = ["main"]

T = TypeVar("T")
_FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
_TARGET = click.option(
    "--target",
    "targets",
    multiple=True,
    help="parsers, gateway, a parser's name, planted:NAME or package.module:factory; repeatable.",
)
_PATIENCE = click.option(
    "--patience",
    type=click.FloatRange(min=0.1),
    default=PATIENCE,
    show_default=True,
    help="Seconds until a target is said to hang.",
)
_HYPOTHESIS_CASES = 100


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="wirefence")
def cli() -> None:
    """Find bytes that should be rejected and act, and texts that parsers read differently."""


@cli.command("campaign")
@click.option("--seconds", type=click.FloatRange(min=0.1), help="How long. Default: 60.")
@click.option("--cases", type=click.IntRange(min=1), help="How many generated cases.")
@click.option("--seed", default="0", show_default=True, help="An integer, or 'random'.")
@_TARGET
@click.option("--corpus", "folders", multiple=True, type=click.Path(path_type=Path))
@click.option("--workers", type=click.IntRange(1, 256), default=os.cpu_count, help="Processes.")
@_PATIENCE
@click.option("--out", type=click.Path(path_type=Path), default=Path(".wirefence/findings"))
@_FORMAT
def campaign_command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    seconds: float | None,
    cases: int | None,
    seed: str,
    targets: tuple[str, ...],
    folders: tuple[Path, ...],
    workers: int,
    patience: float,
    out: Path,
    form: str,
) -> int:
    """Run cases until the budget is spent; exit 1 if there are new findings.

    Committed crashes and corpora come first, then Hypothesis, then the random grammar.
    """
    budget = _budget(seconds, cases, workers, patience)
    plan = Plan(targets or DEFAULT_TARGETS, _seed(seed))
    if "parsers" in plan.targets:
        _warn_of_other_versions()
    given, known = _given(folders, plan.seed)
    found: list[Found] = []
    ends: list[Finished] = []

    def keep(event: Event) -> None:
        if isinstance(event, Found):
            found.append(event)
        elif isinstance(event, Finished):
            ends.append(event)

    _with_progress(
        lambda listener: campaign(
            plan, budget, out, fan_out(keep, listener), given=given, known=known
        )
    )
    _print((as_json if form == "json" else as_table)(ends[0], found))
    return FOUND if found else NOTHING


def _budget(seconds: float | None, cases: int | None, workers: int, patience: float) -> Budget:
    if seconds is not None and cases is not None:
        raise UsageError("--seconds and --cases were both given", "give one of them")
    if any(math.isnan(each) for each in (seconds or 0.0, patience)):
        raise UsageError("nan is no number of seconds", "give a number")
    default = 60.0 if cases is None else None
    return Budget(default if seconds is None else seconds, cases, workers, patience)


def _warn_of_other_versions() -> None:
    """Say so where quirks were probed with other versions: what is new may only be those."""
    stored, here = quirks.load().versions, library_versions()
    other = [f"{name} {here[name]}" for name in here if stored.get(name) != here[name]]
    if other:
        click.echo(
            f"wirefence: the quirks were probed with other versions than {', '.join(other)}; "
            "differences of parsers may be new for that reason, see wirefence quirks",
            err=True,
        )


def _seed(text: str) -> int:
    if text == "random":
        return secrets.randbits(32)
    try:
        return int(text) % (1 << 64)
    except ValueError:
        raise UsageError(f"{text!r} is no seed", "give an integer or 'random'") from None


def _given(folders: tuple[Path, ...], seed: int) -> tuple[list[Case], frozenset[str]]:
    """Cases that come before generated ones, and the signatures of committed crashes."""
    committed = Path("crashes")
    known = Store(committed).signatures() if committed.is_dir() else set()
    crashes = [read_case(path) for path in sorted(committed.glob("*/*.frame"))]
    cases = [*crashes, *corpus(folders), *hypothesis_cases(seed, _HYPOTHESIS_CASES)]
    return cases, frozenset(known)


def _with_progress(run: Callable[[Listener], T]) -> T:
    """Give ``run`` a listener on stderr: live on a terminal, lines elsewhere.

    What targets print meanwhile goes to stderr too: stdout is for the report.
    """
    with redirect_stdout(sys.stderr):
        if not sys.stderr.isatty():
            return run(plain(sys.stderr))
        bar, listener = live(Console(stderr=True))
        with bar:
            return run(listener)


def _print(text: str) -> None:
    """Write the report; a reader that went away, as ``head`` does, changes no exit code."""
    try:
        click.echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@cli.command("explain")
@click.argument("file")
@click.option("--protocol", type=click.Choice(VERSIONS), help="MCP version of the session.")
@_TARGET
@_PATIENCE
@_FORMAT
def explain_command(
    file: str, protocol: str | None, targets: tuple[str, ...], patience: float, form: str
) -> int:
    """Show what the judge, every parser and the gateway make of FILE ('-' for stdin).

    FILE holds raw stdin bytes: one frame, or a session. Exit 1 if that shows findings.
    """
    case = _case(file, protocol)
    with redirect_stdout(sys.stderr):
        examiner = build(Plan(targets or DEFAULT_TARGETS))
    said = explain_apart(case, examiner, patience=patience)
    _print(benchmarks.as_text(said.content) if form == "json" else said.text)
    return FOUND if said.content["findings"] else NOTHING


def _case(file: str, protocol: str | None) -> Case:
    if file == "-":
        if sys.stdin is None:
            raise UsageError("stdin is closed", "name a file or pipe bytes in")
        return case_from_bytes(sys.stdin.buffer.read(), protocol=protocol or VERSIONS[-2])
    case = read_case(Path(file))
    return case_from_bytes(case.data, protocol=protocol, cuts=list(case.cuts)) if protocol else case


@cli.command("quirks")
@click.option("--write", is_flag=True, help="Store what was probed.")
def quirks_command(*, write: bool) -> int:
    """Probe every installed parser's quirks and compare them with the stored ones."""
    probed = probe()
    if write:
        try:
            quirks.QUIRKS_FILE.write_text(quirks.dump(probed))
        except OSError as error:
            raise UsageError(
                f"cannot write to {quirks.QUIRKS_FILE}: {error.strerror}", "mend its permissions"
            ) from error
        click.echo(f"wrote {sum(map(len, probed.known.values()))} quirks")
        return NOTHING
    try:
        stored = quirks.load()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"no readable quirks file ({error})", "run with --write") from error
    lines = quirks.difference(stored, probed)
    click.echo("\n".join(lines) or "The stored quirks are what the installed parsers show.")
    return FOUND if lines else NOTHING


@cli.command("bench")
@_FORMAT
def bench_command(form: str) -> int:
    """Measure the grammar, the parser loop, the judge and the gateway, in CPU time."""
    figures = benchmarks.measure()
    click.echo(benchmarks.as_text(figures) if form == "json" else benchmarks.as_table(figures))
    return NOTHING


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
