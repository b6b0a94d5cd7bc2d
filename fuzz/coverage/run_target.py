"""One libFuzzer process: sets atheris up around a check and gives it what it finds.

The key insight: libFuzzer knows one kind of find, the death of the process. So a target that works
for a store saves what it finds by itself and goes on; only one that has no store dies of it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wirefence.fuzz.coverage.behaviour import Behaviours
from wirefence.fuzz.coverage.checks import Check, check_of
from wirefence.fuzz.coverage.dictionary import words
from wirefence.fuzz.coverage.inflight_marker import Marker
from wirefence.fuzz.coverage.mutator import Form, Mutator
from wirefence.fuzz.coverage.target_settings import Orders
from wirefence.fuzz.native.loaded import assert_ordered
from wirefence.fuzz.self_check import check_readers
from wirefence.fuzz.store.status import standing
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import Finding, finding
from wirefence.strategies.records import Case
from wirefence.targets.errors import TargetError
from wirefence.targets.harness import error_name
from wirefence.targets.parsers.configs import library_versions

__all__ = ["MAX_SIZE", "FoundError", "fuzz"]

MAX_SIZE: dict[Form, int] = {"document": 2_048, "session": 8_192}
"""Bytes of the largest input, unless ``-max_len`` says otherwise."""

_CRASHES = Path(__file__).resolve().parents[2] / "crashes"
_SEED = "-seed="
_PR_SET_PDEATHSIG = 1


class FoundError(Exception):
    """A new finding of a target without a store; its message is summary and signature."""


@dataclass(slots=True)
class _Sink:
    """Where findings go, each signature once."""

    store: Store | None
    known: set[str]
    versions: dict[str, str] = field(default_factory=library_versions)

    def take(self, found: list[Finding], case_of: Callable[[], Case]) -> None:
        """Save what is new, or raise it."""
        for each in found:
            if each.signature in self.known:
                continue
            self.known.add(each.signature)
            if self.store is None:
                raise FoundError(f"{each.summary} [{each.signature}]")
            self.store.save(each, case_of(), versions=self.versions)


def _sink(given: Orders) -> _Sink:
    known = {*given.known, *standing(_CRASHES)}
    if not given.out:
        return _Sink(None, known)
    store = Store(Path(given.out))
    store.prepare()
    return _Sink(store, known | store.signatures())


@dataclass(slots=True)
class _Body:
    """What runs for each input."""

    name: str
    check: Check
    sink: _Sink
    marker: Marker | None

    def __call__(self, data: bytes) -> None:
        marker, check = self.marker, self.check
        if marker is not None:
            marker.begin(data)
        try:
            found = check(data)
        except SystemExit:
            # libFuzzer would take it for a crash of its own, without a cause.
            found = [self._death("exit", "the target ended the process")]
        except (TargetError, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001 - a reader that fails is what is looked for
            kind = error_name(error)
            found = [self._death(kind, f"{kind} left the target")]
        if found:
            self.sink.take(found, lambda: check.case(data))
        if marker is not None:
            marker.end(check.valid, check.calls)

    def _death(self, kind: str, summary: str) -> Finding:
        return finding("liveness", "live-crash", self.name, kind, summary)


def fuzz(atheris: Any, file: Path, name: str, arguments: list[str], given: Orders) -> None:
    """Run the target ``name`` under libFuzzer with its ``arguments``; does not return.

    ``file`` is the executable that libFuzzer starts again for ``-merge``, ``-fork`` and the like.
    Raises UsageError and TargetError for orders that cannot be followed.
    """
    check_readers()
    assert_ordered()
    behaviours = Behaviours(lambda: atheris._trace_branch)
    check = check_of(name, given.targets, behaviours.note)
    size = _size(arguments, MAX_SIZE[check.form])
    marker = Marker(Path(given.marker), size) if given.marker else None
    body = _Body(name, check, _sink(given), marker)
    if given.marker:
        _follow_parent()
    extra: dict[str, Any] = {}
    if not given.plain:
        mutator = _mutator(atheris, check, arguments)
        extra["custom_mutator"] = lambda data, most, _seed: mutator.mutate(data, most)
        extra["custom_crossover"] = lambda one, two, most, _seed: mutator.cross(one, two, most)
    # libFuzzer starts argv[0] through a shell for some of its modes: an interpreter must lead.
    argv = [f"{sys.executable} {file}", *_defaults(size, plain=given.plain), *arguments]
    atheris.Setup(argv, body, **extra)
    if not given.plain:
        behaviours.ready(atheris._reserve_counter)
    atheris.Fuzz()


def _mutator(atheris: Any, check: Check, arguments: list[str]) -> Mutator:
    seed = next((a.removeprefix(_SEED) for a in arguments if a.startswith(_SEED)), "0")

    def scramble(data: bytes, most: int) -> bytes:
        made: bytes = atheris.Mutate(data, most)
        return made

    number = int(seed) if seed.isdecimal() else 0
    return Mutator(check.form, scramble, words=words(), seed=number)


def _defaults(size: int, *, plain: bool) -> list[str]:
    """Flags of ours, before those given, which win."""
    depth = () if plain else ("-mutate_depth=1",)
    return [f"-max_len={size}", "-timeout=60", *depth]


def _size(arguments: list[str], default: int) -> int:
    given = [a.partition("=")[2] for a in arguments if a.startswith("-max_len=")]
    return int(given[-1]) if given and given[-1].isdecimal() and int(given[-1]) else default


def _follow_parent() -> None:
    """End with the parent: by the kernel's hand, even stopped, and where it died before this."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_end_with_stdin, daemon=True).start()


def _end_with_stdin() -> None:
    """The parent holds the other end of stdin for as long as it lives."""
    sys.stdin.buffer.read()
    os._exit(0)
