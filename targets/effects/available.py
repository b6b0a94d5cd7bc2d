"""Which recorders watch a launch, strongest first, and which don't and why.

A report that says nothing happened must say who looked. A recorder may be off
before the start (no strace here), or turn out to have watched nothing (no Python in this server);
both are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.environment import may_install
from wirefence.targets.effects.fake_http import FakeHttp
from wirefence.targets.effects.fake_ssh import FakeSsh
from wirefence.targets.effects.files import FileRecorder
from wirefence.targets.effects.node_require import NodeRequire
from wirefence.targets.effects.python_audit import PythonAudit
from wirefence.targets.effects.records import EffectRecorder, Observed
from wirefence.targets.effects.strace import Strace
from wirefence.targets.errors import TargetError

__all__ = ["NAMES", "Recording", "Watching", "choose_recorders"]

_Make = Callable[[Launch, "Watching"], EffectRecorder]


@dataclass(frozen=True, slots=True)
class Watching:
    """What recorders are told: folders to look into, variables that get the HTTP service's URL."""

    folders: tuple[Path, ...] = ()
    http_variables: tuple[str, ...] = ()


def _make_file_recorder(launch: Launch, watching: Watching) -> EffectRecorder:
    own = (launch.cwd,) if launch.cwd is not None else ()
    return FileRecorder(watching.folders or own)


def _make_http_recorder(launch: Launch, watching: Watching) -> EffectRecorder:
    # A launcher that must fetch its package would fetch it from the fake.
    return FakeHttp(watching.http_variables, proxies=not may_install(launch))


_MAKERS: Mapping[str, _Make] = {
    "files": _make_file_recorder,
    "http": _make_http_recorder,
    "ssh": lambda _launch, _watching: FakeSsh(),
    "python": lambda _launch, _watching: PythonAudit(),
    "node": lambda _launch, _watching: NodeRequire(),
    "strace": lambda _launch, _watching: Strace(),
}

NAMES = tuple(_MAKERS)
"""All recorders, strongest evidence first: what arrived, before what was about to be done."""


def _check_names(names: Sequence[str] | None) -> list[str]:
    unknown = [name for name in names or () if name not in _MAKERS]
    if unknown:
        raise TargetError(
            f"there is no effect recorder {unknown[0]!r}", f"choose from {', '.join(NAMES)}"
        )
    return [name for name in NAMES if names is None or name in names]


def _split_usable(
    launch: Launch, names: Sequence[str] | None, watching: Watching | None, opened: ExitStack
) -> tuple[list[EffectRecorder], dict[str, str]]:
    """Recorders that can watch, and why others can't; ``opened`` closes all that were made."""
    watching = watching or Watching()
    usable: list[EffectRecorder] = []
    off: dict[str, str] = {}
    for name in _check_names(names):
        recorder = _MAKERS[name](launch, watching)
        opened.callback(recorder.close)
        reason = recorder.unavailable(launch)
        if reason:
            recorder.close()
            off[name] = reason
        else:
            usable.append(recorder)
    return usable, off


def choose_recorders(
    launch: Launch, names: Sequence[str] | None = None, watching: Watching | None = None
) -> list[EffectRecorder]:
    """Recorders that can watch this launch, strongest first; ``names`` narrows the choice.

    Raises TargetError for a name that is none. The caller wraps in this order and closes them.
    """
    with ExitStack() as opened:
        usable, _ = _split_usable(launch, names, watching, opened)
        opened.pop_all()
    return usable


@dataclass(slots=True)
class Recording:
    """A set of recorders around one launch: start :attr:`launch`, then :meth:`take` at will."""

    launch: Launch
    recorders: tuple[EffectRecorder, ...] = ()
    off: Mapping[str, str] = field(default_factory=dict)
    """Names of recorders that can't watch this launch, with the reason."""

    @classmethod
    def of(
        cls, launch: Launch, names: Sequence[str] | None = None, watching: Watching | None = None
    ) -> Self:
        """All recorders that can watch ``launch``, wrapped around it. Raises TargetError."""
        with ExitStack() as opened:
            usable, off = _split_usable(launch, names, watching, opened)
            for recorder in usable:
                launch = recorder.wrap(launch)
            opened.pop_all()
        return cls(launch, tuple(usable), off)

    def take(self) -> list[Observed]:
        """What all of them saw since the last call, by time."""
        seen = [each for recorder in self.recorders for each in recorder.take()]
        return sorted(seen, key=lambda each: each.at)

    def status(self) -> dict[str, str]:
        """For each recorder ``"on"``, or why it saw or can see nothing."""
        on = {recorder.name: recorder.idle() or "on" for recorder in self.recorders}
        return {name: on.get(name) or self.off[name] for name in NAMES if name in {*on, *self.off}}

    def close(self) -> None:
        for recorder in self.recorders:
            recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
