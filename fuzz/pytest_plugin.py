"""The pytest plugin: committed crash files as tests, and a fixture for servers and adapters.

The key insight: a plugin is loaded in every run of a project that has it installed, so this module
imports nothing of Wirefence until a test asks for it.

A ``.frame`` file with its metadata beside it is a test, wherever pytest meets one. It passes if the
reproducer does what its status says (see ``wirefence replay``). The ini option ``wirefence_target``
(``module:factory``) or ``wirefence_command`` runs all of them against that instead, and then each
must show nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr

    from fuzz.crashes.replay import Replayed
    from fuzz.crashes.rerun import Runners
    from fuzz.gate.records import Options, Report
    from oracles.records import Finding
    from targets.records import GatewayFactory

__all__ = ["Wirefence"]

_CASES = 200
_RUNNERS: pytest.StashKey[dict[str, Runners]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ini options; there is nothing to be given on the command line alone."""
    parser.addini("wirefence_target", "Run crash files against this module:factory.", default="")
    parser.addini("wirefence_command", "Run crash files against this server.", default="")
    parser.addini("wirefence_patience", "Seconds for one crash file.", default="60")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes in which crash files ran; those of one subject share them."""
    for runners in config.stash.get(_RUNNERS, {}).values():
        runners.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take bytes that have metadata beside them; anything else is not ours."""
    if file_path.suffix != ".frame" or not file_path.with_suffix(".json").is_file():
        return None
    return _CrashFile.from_parent(parent, path=file_path)


class _CrashFile(pytest.File):
    """A reproducer on disk: one test."""

    def collect(self) -> Iterable[pytest.Item]:
        yield _Crash.from_parent(self, name=self.path.stem)


class _UnexpectedError(Exception):
    """A reproducer that does not do what its status says."""


class _Crash(pytest.Item):
    """The replay of one reproducer."""

    def runtest(self) -> None:
        # Replaying needs the judge, the parsers and the gate: not before a crash file is met.
        from fuzz.crashes.show import replayed  # noqa: PLC0415

        said = self._replay()
        if not said.expected:
            raise _UnexpectedError(replayed(said))

    def _replay(self) -> Replayed:
        # As above.
        from fuzz.crashes.replay import ERROR, Replayed, replay  # noqa: PLC0415
        from fuzz.crashes.rerun import Runners, Subject, subject_of  # noqa: PLC0415 - as above
        from fuzz.crashes.shelf import Entry  # noqa: PLC0415 - as above
        from fuzz.errors import UsageError  # noqa: PLC0415 - as above
        from fuzz.store import Store  # noqa: PLC0415 - as above
        from targets.command.records import Launch  # noqa: PLC0415 - as above

        try:
            entry = Entry(self.path, *Store(self.path.parent.parent).get(self.path))
        except UsageError as error:
            raise _UnexpectedError(f"{error.cause}; {error.hint}") from error
        target, command = self._ini("wirefence_target"), self._ini("wirefence_command")
        try:
            subject = Subject(target) if target else subject_of(entry.metadata)
        except UsageError as error:
            if not command:
                return Replayed(entry, ERROR, expected=False, detail=str(error))
            subject = Subject(entry.metadata.target)
        if command and not target:
            subject = Subject(entry.metadata.target, Launch(tuple(shlex.split(command))))
        kept = self.config.stash.setdefault(_RUNNERS, {})
        runners = kept.get(repr(subject))
        if runners is None:
            runners = Runners(subject, patience=float(self._ini("wirefence_patience")))
            kept[repr(subject)] = runners
        return replay(entry, runners, own=not (target or command))

    def _ini(self, name: str) -> str:
        return str(self.config.getini(name))

    def repr_failure(
        self, excinfo: ExceptionInfo[BaseException], style: Any = None
    ) -> str | TerminalRepr:
        """What the reproducer showed; a traceback only for faults of the plugin."""
        if isinstance(excinfo.value, _UnexpectedError):
            return f"{excinfo.value}\nwirefence replay {shlex.quote(str(self.path))}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"reproducer {self.name}"


@dataclass(frozen=True, slots=True)
class Wirefence:
    """What the ``wirefence`` fixture gives. Findings are put below ``folder``."""

    folder: Path

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

        ``tool`` names one that is safe to call, with ``{nonce}`` in the JSON ``arguments`` where
        the action name goes; ``options`` are members of ``fuzz.gate.records.Options``. Returns the
        report. A command that can't be started or talked to raises ``TargetError``.
        """
        # The gate is heavy, and most tests of a project don't ask for it.
        from fuzz.gate.baseline import load  # noqa: PLC0415
        from fuzz.gate.records import Nominee, Options  # noqa: PLC0415 - as above
        from fuzz.gate.report import as_table  # noqa: PLC0415 - as above
        from fuzz.gate.run import gate  # noqa: PLC0415 - as above
        from targets.command.records import Launch  # noqa: PLC0415 - as above

        nominee = Nominee(tool, arguments) if tool else None
        chosen: Options = Options(nominee=nominee, **options)
        launch = Launch(command, dict(env or {}), cwd)
        report = gate(launch, chosen, "quick", self.folder, _ignore, seconds=seconds)
        if baseline is not None:
            report = load(baseline).applied(report)
        if any(not flaw.known for flaw in report.flaws):
            pytest.fail(as_table(report), pytrace=False)
        return report

    def adapter(
        self,
        factory: GatewayFactory,
        *,
        cases: int = _CASES,
        seed: int = 0,
        policies: Sequence[str] = ("close", "continue"),
        profile: str = "strict",
    ) -> None:
        """Run generated cases through an in-process adapter; fail the test for what is wrong.

        ``factory`` is called with ``act`` and a contract, as README's ``adapter.py`` shows. Each
        signature is told once, with the bytes of the first case that shows it.
        """
        found = self._examine(factory, cases, seed, policies, profile)
        if found:
            pytest.fail("\n".join(self._tell(found)), pytrace=False)

    def _examine(
        self,
        factory: GatewayFactory,
        cases: int,
        seed: int,
        policies: Sequence[str],
        profile: str,
    ) -> dict[str, tuple[Finding, bytes]]:
        # As in gate().
        from itertools import count, islice  # noqa: PLC0415

        from fuzz.drivers import block  # noqa: PLC0415 - as in gate()
        from fuzz.examine import Examiner  # noqa: PLC0415 - as in gate()
        from fuzz.plan import both_policies  # noqa: PLC0415 - as in gate()

        name = (
            f"{getattr(factory, '__module__', 'adapter')}:{getattr(factory, '__name__', 'adapter')}"
        )
        every = both_policies(name, factory, profile)  # type: ignore[arg-type]
        examiner = Examiner((), [[each for each in every if each.policy in policies]])
        made = (case for number in count() for case in block(seed, number))
        found: dict[str, tuple[Finding, bytes]] = {}
        for case in islice(made, cases):
            for each in examiner.examine(case):
                found.setdefault(each.signature, (each, case.data))
        return found

    def _tell(self, found: Mapping[str, tuple[Finding, bytes]]) -> Iterable[str]:
        # As in gate().
        from fuzz.report import printable  # noqa: PLC0415

        yield f"{len(found)} findings"
        for finding, data in found.values():
            yield printable(
                f"{finding.oracle} {finding.rule}: {finding.summary} [{finding.target}]"
            )
            yield f"    {data[:200]!r}"


def _ignore(event: object) -> None:
    del event


@pytest.fixture
def wirefence(tmp_path: Path) -> Wirefence:
    """The gate and the campaign's examination, for servers and adapters under test."""
    return Wirefence(tmp_path / "wirefence")
