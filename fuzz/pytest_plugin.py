"""The pytest plugin: committed crash files as tests, and a fixture for servers and adapters.

A plugin is loaded in every run of a project that has it installed, so this module
imports nothing of Wirefence until a test asks for it.

A ``.frame`` file with its metadata beside it is a test, wherever pytest meets one. It passes if the
reproducer does what its status says (see ``wirefence replay``). The ini option ``wirefence_target``
(``module:factory``) or ``wirefence_command`` runs all of them against that instead, and then each
must show nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr

    from wirefence.fuzz.pytest_support import Replays, Wirefence


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ini options; there is nothing to be given on the command line alone."""
    parser.addini("wirefence_target", "Run crash files against this module:factory.", default="")
    parser.addini("wirefence_command", "Run crash files against this server.", default="")
    parser.addini("wirefence_patience", "Seconds for one crash file.", default="60")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes in which crash files ran."""
    replays = config.stash.get(_REPLAYS, None)
    if replays is not None:
        replays.close()


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
        expected, text = _replays(self.config).replay(self.path)
        if not expected:
            raise _UnexpectedError(text)

    def repr_failure(
        self, excinfo: ExceptionInfo[BaseException], style: Any = None
    ) -> str | TerminalRepr:
        """What the reproducer showed; a traceback only for faults of the plugin."""
        if isinstance(excinfo.value, _UnexpectedError):
            return f"{excinfo.value}\nwirefence replay {shlex.quote(str(self.path))}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"reproducer {self.name}"


_REPLAYS: pytest.StashKey[Replays] = pytest.StashKey()


def _replays(config: pytest.Config) -> Replays:
    """The replays of this run, made when the first crash file is met."""
    from wirefence.fuzz.pytest_support import Replays  # noqa: PLC0415 - loads the judge and the parsers

    if _REPLAYS not in config.stash:
        config.stash[_REPLAYS] = Replays(
            str(config.getini("wirefence_target")),
            str(config.getini("wirefence_command")),
            float(str(config.getini("wirefence_patience"))),
        )
    return config.stash[_REPLAYS]


@pytest.fixture
def wirefence(tmp_path: Path) -> Wirefence:
    """The gate and the campaign's examination, for servers and adapters under test."""
    from wirefence.fuzz.pytest_support import Wirefence  # noqa: PLC0415 - loads the judge and the gate

    return Wirefence(tmp_path / "wirefence")
