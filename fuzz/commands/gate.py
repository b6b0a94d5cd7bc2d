"""``wirefence gate``: test a server, or a client, before a release."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import get_args

import click

from wirefence.fuzz.commands.options import GLOSSARY, LONG, NonEmptyPath, Seconds, write_report
from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.gate.client.run import gate_client, select_attacks
from wirefence.fuzz.gate.records import Budget, NominatedTool, Options, Report
from wirefence.fuzz.gate.report import baseline
from wirefence.fuzz.gate.report.artifacts import shown_command
from wirefence.fuzz.gate.report.interrupted_runs import find_interrupted_runs, mark_running
from wirefence.fuzz.gate.report.junit import format_junit
from wirefence.fuzz.gate.report.markdown import format_markdown
from wirefence.fuzz.gate.report.sarif import format_sarif
from wirefence.fuzz.gate.report.text import (
    decide_verdict,
    format_json,
    format_table,
    make_progress_printer,
)
from wirefence.fuzz.gate.run import BUDGET_SECONDS, run_gate
from wirefence.fuzz.gate.trials.messages import ToolWording
from wirefence.fuzz.paths import path_exists
from wirefence.fuzz.store.atomic_write import can_write_atomically, write_atomically
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.store.scan import GATE
from wirefence.fuzz.text import escape_unprintable
from wirefence.strategies.contract import Policy, Profile
from wirefence.strategies.records import VERSIONS, Version
from wirefence.targets.command.guardian import end_left
from wirefence.targets.command.records import Launch
from wirefence.targets.effects.available import NAMES
from wirefence.targets.errors import TargetError

__all__ = ["command"]

_FILE = NonEmptyPath(path_type=Path, dir_okay=False)
_FOLDER = NonEmptyPath(path_type=Path, file_okay=False)
_FORMS = {"table": format_table, "json": format_json, "markdown": format_markdown}


@click.command("gate", epilog=GLOSSARY, context_settings={"ignore_unknown_options": False})
@click.argument("words", nargs=-1, metavar="-- COMMAND [ARG]...", type=click.UNPROCESSED)
@click.option(
    "--budget",
    type=click.Choice(get_args(Budget)),
    default="quick",
    show_default=True,
    help="Time budget: 30 s, 5 minutes or an hour.",
)
@click.option("--seconds", type=Seconds(most=LONG), help="Time budget in seconds instead.")
@click.option("--tool", help="A tool that is safe to call many times.")
@click.option(
    "--args",
    "arguments",
    default="{}",
    show_default=True,
    help="Its arguments, as JSON; {nonce} is replaced by a unique name for each call.",
)
@click.option("--expect-tool", "expected", multiple=True, help="A tool that must be listed.")
@click.option(
    "--profile",
    type=click.Choice(get_args(Profile)),
    default="strict",
    show_default=True,
    help="spec: only the rules of the specifications.",
)
@click.option(
    "--policy",
    type=click.Choice(get_args(Policy)),
    help="What the server should do after a bad frame. Default: detected.",
)
@click.option(
    "--protocol",
    type=click.Choice(VERSIONS),
    help="MCP version. Default: the newest that the server speaks.",
)
@click.option(
    "--effects",
    multiple=True,
    type=click.Choice(NAMES),
    help="Effect recorders; repeatable. Default: all that fit the command.",
)
@click.option(
    "--watch",
    multiple=True,
    type=NonEmptyPath(path_type=Path, file_okay=False, exists=True),
    help="Directory in which file changes are effects; repeatable.",
)
@click.option(
    "--env",
    "changes",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Set or remove an environment variable; repeatable.",
)
@click.option("--cwd", type=_FOLDER, help="Working directory of the command.")
@click.option(
    "--patience",
    type=Seconds(),
    default=5.0,
    show_default=True,
    help="Seconds to wait for a reply.",
)
@click.option(
    "--start-patience",
    type=Seconds(),
    default=30.0,
    show_default=True,
    help="Seconds to wait for the first reply.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Another seed chooses other damage."
)
@click.option("--client", is_flag=True, help="COMMAND is a client: test it with a hostile server.")
@click.option(
    "--attack", "attacks", multiple=True, help="With --client: run only this attack; repeatable."
)
@click.option("--label", default="", help="Name of the server in signatures, in place of its own.")
@click.option(
    "--out", type=_FOLDER, default=GATE, show_default=True, help="Directory for findings."
)
@click.option(
    "--crashes",
    type=_FOLDER,
    default=Path("crashes"),
    show_default=True,
    help="Committed reproducers, sent as trials.",
)
@click.option("--baseline", "expected_file", type=_FILE, help="File of accepted findings.")
@click.option(
    "--update-baseline", is_flag=True, help="Write the findings of this run to --baseline."
)
@click.option("--junit", type=_FILE, help="Write a JUnit file.")
@click.option("--sarif", type=_FILE, help="Write a SARIF file.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_FORMS)),
    default="table",
    show_default=True,
)
def command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    words: tuple[str, ...],
    budget: Budget,
    seconds: float | None,
    tool: str | None,
    arguments: str,
    expected: tuple[str, ...],
    profile: Profile,
    policy: Policy | None,
    protocol: Version | None,
    effects: tuple[str, ...],
    watch: tuple[Path, ...],
    changes: tuple[str, ...],
    cwd: Path | None,
    patience: float,
    start_patience: float,
    seed: int,
    client: bool,
    attacks: tuple[str, ...],
    label: str,
    out: Path,
    crashes: Path,
    expected_file: Path | None,
    update_baseline: bool,
    junit: Path | None,
    sarif: Path | None,
    form: str,
) -> int:
    """Test a stdio server: send it invalid input and check that nothing acts on it.

    Exit 0 if there are no findings outside the baseline, 1 if there are, 2 for no verdict: COMMAND
    does not start or does not speak MCP, or the run found nothing and was cut short (interrupted,
    or out of time before each classic input was sent at each place), or saw a sign of a fault that
    no fresh process showed again.
    """
    launch = _make_launch(words, changes, cwd)
    nominee = _parse_nominee(tool, arguments)
    if update_baseline and expected_file is None:
        raise UsageError("--update-baseline needs a file", "name it with --baseline")
    options = Options(
        profile, policy, protocol, nominee, expected, effects, watch, patience, start_patience,
        seed, label.replace("/", "-").replace("|", "-"),
    )  # fmt: skip
    known, hide = _load_baseline(expected_file, fresh=update_baseline), Redactor.for_launch(launch)
    if attacks and not client:
        raise UsageError("--attack without --client", "attacks are for clients")
    for path in (junit, sarif, expected_file if update_baseline else None):
        _check_writable(path)
    with redirect_stdout(sys.stderr), _redact_errors(hide), _mark_run(launch, out, hide):
        tell = make_progress_printer(sys.stderr, hide)
        if client:
            limit = seconds or BUDGET_SECONDS[budget]
            chosen = select_attacks(attacks)
            report = gate_client(launch, options, budget, out, tell, seconds=limit, attacks=chosen)
        else:
            report = run_gate(launch, options, budget, out, tell, crashes=crashes, seconds=seconds)
    for warning in known.server.make_warnings(report.facts):
        _print_message(f"warning: {warning}")
    other = known.server.is_other(report.facts)
    after = known.update_from(report) if update_baseline and not other else known
    told = after.mark_known(report)
    _run_all_steps(
        lambda: write_report(_FORMS[form](told, hide)),
        lambda: _write_report_file(junit, lambda: format_junit(told, hide)),
        lambda: _write_report_file(sarif, lambda: format_sarif(told, hide).encode()),
        lambda: _update_baseline(expected_file if update_baseline else None, known, report),
    )
    if decide_verdict(told) == "none":
        raise UsageError(f"no verdict: {told.gap}", "run it again, or longer with --seconds")
    return FOUND if decide_verdict(told) == "findings" else NOTHING


def _run_all_steps(*steps: Callable[[], None]) -> None:
    """Run every step, even if one fails: a full disk must not lose the other reports.

    Raises the UsageError of the first that failed.
    """
    failed: list[UsageError] = []
    for step in steps:
        try:
            step()
        except UsageError as error:
            failed.append(error)
    if failed:
        raise failed[0]


@contextmanager
def _redact_errors(hide: Redactor) -> Iterator[None]:
    """In the block, remove secrets from errors, which quote arguments and output of a server."""
    try:
        yield
    except (TargetError, UsageError) as error:
        raise type(error)(hide.redact_text(error.cause), hide.redact_text(error.hint)) from None


@contextmanager
def _mark_run(launch: Launch, out: Path, hide: Redactor) -> Iterator[None]:
    """In the block, mark the run as unfinished and report earlier unfinished runs; end all
    servers.
    """
    command = shown_command(launch, hide)
    with mark_running(out, command):
        for each in find_interrupted_runs(out):
            _print_message(each.describe_run())
        if sys.stderr.isatty():  # somebody is waiting
            _print_message(f"starting {command}")
        try:
            yield
        finally:
            end_left()


def _print_message(text: str) -> None:
    click.echo(escape_unprintable(text), err=True)


def _make_launch(words: tuple[str, ...], changes: tuple[str, ...], cwd: Path | None) -> Launch:
    if not words:
        raise UsageError("no command was given", "put it after --, as in: gate -- python server.py")
    env: dict[str, str | None] = {}
    for change in changes:
        name, given, value = change.partition("=")
        if not name or "\0" in change:
            raise UsageError(f"--env {change!r} names no variable", "give NAME=VALUE or NAME")
        env[name] = value if given else None
    return Launch(words, env, cwd)


def _parse_nominee(tool: str | None, arguments: str) -> NominatedTool | None:
    if tool is None:
        if arguments != "{}":
            raise UsageError("--args without --tool", "name the tool with --tool")
        return None
    nominee = NominatedTool(tool, arguments)
    ToolWording.of(nominee)
    return nominee


def _load_baseline(path: Path | None, *, fresh: bool) -> baseline.Baseline:
    if path is None or (fresh and not path_exists(path)):
        return baseline.Baseline()
    return baseline.load_baseline(path)


def _update_baseline(path: Path | None, known: baseline.Baseline, report: Report) -> None:
    if path is not None:
        baseline.store_baseline(path, known.update_from(report))


def _check_writable(path: Path | None) -> None:
    """Raise UsageError for a file that cannot be written, before the run and not after it."""
    if path is not None and not can_write_atomically(path):
        raise UsageError(f"cannot write to {path}", "choose another file")


def _write_report_file(path: Path | None, make: Callable[[], bytes]) -> None:
    if path is None:
        return
    try:
        write_atomically(path, make())
    except OSError as error:
        raise UsageError(
            f"cannot write to {path}: {error.strerror}", "choose another file"
        ) from error
