"""What the pytest plugin does once a test asks for it: replays, the gate, adapters.

A failed test shows the findings and how to reproduce them. It shows no traceback through Wirefence,
which would say nothing about the project under test.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from wirefence.fuzz.crashes.render import format_replay
from wirefence.fuzz.crashes.replay import replay_reproducer
from wirefence.fuzz.crashes.rerun import CaseRunners, Subject, make_subject
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.cases import generate_block
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import both_policies
from wirefence.fuzz.gate.records import NominatedTool, Options, Report
from wirefence.fuzz.gate.report.baseline import Baseline, load_baseline
from wirefence.fuzz.gate.report.text import decide_verdict, format_table
from wirefence.fuzz.gate.run import run_gate
from wirefence.fuzz.self_check import check_readers
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.store import Store
from wirefence.fuzz.text import escape_unprintable
from wirefence.oracles.records import Finding
from wirefence.strategies.contract import Policy, Profile
from wirefence.targets.command.guardian import end_left
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError
from wirefence.targets.records import GatewayFactory

__all__ = ["Replays", "Wirefence"]

_CASES = 200


@contextmanager
def _in_a_sentence(hide: Redactor) -> Iterator[None]:
    """Fail the test with one sentence if something cannot run: a traceback could show secrets."""
    try:
        yield
    except (TargetError, UsageError) as error:
        pytest.fail(hide.redact_text(str(error)), pytrace=False)


@dataclass(slots=True)
class Replays:
    """The replays of one run of pytest; reproducers of one subject share its processes.

    ``target`` or ``command``, if given, replaces the target on which a reproducer was found.
    """

    target: str
    command: str
    patience: float
    _runners: dict[str, CaseRunners] = field(default_factory=dict)

    def replay(self, path: Path) -> tuple[bool, str]:
        """Return whether a reproducer behaved as expected, and a text that explains it."""
        try:
            check_readers()
            entry = Entry(path, *Store(path.parent.parent).read_finding(path))
            runners = self._for(self._subject(entry))
        except UsageError as error:
            return False, f"{error.cause}; {error.hint}"
        said = replay_reproducer(entry, runners, own=not (self.target or self.command))
        return said.expected, format_replay(said)

    def _subject(self, entry: Entry) -> Subject:
        if self.target:
            return Subject(self.target)
        if self.command:
            launch = Launch(_split_command(self.command))
            return Subject(entry.metadata.target, launch, options=entry.metadata.options)
        return make_subject(entry.metadata)

    def _for(self, subject: Subject) -> CaseRunners:
        key = repr(subject)
        if key not in self._runners:
            self._runners[key] = CaseRunners(subject, patience=self.patience)
        return self._runners[key]

    def close(self) -> None:
        """End the processes."""
        for runners in self._runners.values():
            runners.close()


@dataclass(frozen=True, slots=True)
class Wirefence:
    """The object that the ``wirefence`` fixture returns. It writes findings below ``folder``."""

    folder: Path

    def __post_init__(self) -> None:
        """Fail the test if this Python misreads JSON, because no verdict would be reliable."""
        try:
            check_readers()
        except UsageError as error:
            pytest.fail(str(error), pytrace=False)

    def gate(  # noqa: PLR0913 - the options of `wirefence gate` that a test needs
        self,
        *command: str,
        tool: str = "",
        arguments: str = "{}",
        seconds: float = 20.0,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        baseline: Path | None = None,
        **options: Any,
    ) -> Report:
        """Run the gate on a server's launch command; fail the test for findings that are new.

        The test also fails if ``seconds`` pass before every classic input was sent. Processes that
        the server leaves behind are ended.

        ``tool`` names one that is safe to call, with ``{nonce}`` in the JSON ``arguments`` where
        the action name goes; ``options`` are members of :class:`fuzz.gate.records.Options`. Returns
        the report. The test fails with one sentence if the command cannot be started or does not
        answer, if an option does not fit the server, or if the baseline cannot be read. Raises
        KeyboardInterrupt after Ctrl-C, so that pytest stops.
        """
        nominee = NominatedTool(tool, arguments) if tool else None
        launch = Launch(command, dict(env or {}), cwd)
        chosen = Options(nominee=nominee, **options)
        hide = Redactor.for_launch(launch)
        with _in_a_sentence(hide):
            known = Baseline() if baseline is None else load_baseline(baseline)
            try:
                report = run_gate(
                    launch, chosen, "quick", self.folder, _ignore_event, seconds=seconds
                )
            finally:
                end_left()
        report = known.mark_known(report)
        if report.reason == "interrupted":
            raise KeyboardInterrupt(_left_by(report, self.folder))
        if decide_verdict(report) != "pass":
            pytest.fail(format_table(report, hide), pytrace=False)
        return report

    def adapter(
        self,
        factory: GatewayFactory,
        *,
        cases: int = _CASES,
        seed: int = 0,
        policies: Sequence[Policy] = ("close", "continue"),
        profile: Profile = "strict",
    ) -> None:
        """Run generated cases through an in-process adapter; fail the test for findings.

        ``factory`` is called with ``act`` and a contract, as in docs/gateway-authors.md. Each
        signature is reported once, with the bytes of the first case that shows it.
        """
        targets = [
            each
            for each in both_policies(_name_factory(factory), factory, profile)
            if each.policy in policies
        ]
        examiner = Examiner((), [targets])
        made = (case for number in count() for case in generate_block(seed, number))
        found: dict[str, tuple[Finding, bytes]] = {}
        for case in islice(made, cases):
            for each in examiner.examine_case(case):
                found.setdefault(each.signature, (each, case.data))
        if found:
            pytest.fail("\n".join(_format_findings(found)), pytrace=False)


def _name_factory(factory: GatewayFactory) -> str:
    module = getattr(factory, "__module__", "adapter")
    return f"{module}:{getattr(factory, '__qualname__', type(factory).__qualname__)}"


def _format_findings(found: Mapping[str, tuple[Finding, bytes]]) -> Iterator[str]:
    yield f"{len(found)} findings"
    for each, data in found.values():
        yield escape_unprintable(f"{each.oracle} {each.rule}: {each.summary} [{each.target}]")
        yield f"    {data[:200]!r}"


def _split_command(command: str) -> tuple[str, ...]:
    """Split a command line into words. Raises UsageError if a shell could not parse it."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        reason = str(error).lower()
        raise UsageError(f"wirefence_command is no command line ({reason})", "mend it") from error


def _left_by(report: Report, folder: Path) -> str:
    """Return what an interrupted gate found, as the single line that pytest shows for it."""
    new = sum(not flaw.known for flaw in report.flaws)
    are = "1 finding is" if new == 1 else f"{new} findings are"
    return f"{report.gap}; {are} below {folder}" if new else report.gap


def _ignore_event(event: object) -> None:
    del event
