"""Run one libFuzzer process: set up atheris with a check, and save its findings.

libFuzzer knows only one kind of finding, the death of the process. So a target with a store saves
findings itself and continues; one without a store raises them.
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

from wirefence.fuzz.coverage.behaviour import BehaviourCounters
from wirefence.fuzz.coverage.checks import Check, make_check
from wirefence.fuzz.coverage.dictionary import load_parser_words
from wirefence.fuzz.coverage.inflight_marker import Marker
from wirefence.fuzz.coverage.mutator import Form, Mutator
from wirefence.fuzz.coverage.target_settings import TargetSettings
from wirefence.fuzz.native.loaded import assert_ordered
from wirefence.fuzz.self_check import check_readers
from wirefence.fuzz.store.status import read_unfixed_signatures
from wirefence.fuzz.store.store import Store
from wirefence.oracles.liveness import make_death
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case
from wirefence.targets.errors import TargetError
from wirefence.targets.harness import error_name
from wirefence.targets.parsers.configs import library_versions

__all__ = ["MAX_SIZE", "FoundError", "run_libfuzzer"]

MAX_SIZE: dict[Form, int] = {"document": 2_048, "session": 8_192}
"""Bytes of the largest input, unless ``-max_len`` says otherwise."""

_CRASHES = Path(__file__).resolve().parents[2] / "crashes"
_SEED = "-seed="
_PR_SET_PDEATHSIG = 1
"""Option number of prctl(2): signal to get when the parent dies."""


class FoundError(Exception):
    """A new finding of a target without a store; its message is summary and signature."""


@dataclass(slots=True)
class _FindingSink:
    """Saves findings, each signature once."""

    store: Store | None
    known: set[str]
    versions: dict[str, str] = field(default_factory=library_versions)

    def save_new(self, found: list[Finding], case_of: Callable[[], Case]) -> None:
        """Save new findings, or raise the first one if there is no store."""
        for each in found:
            if each.signature in self.known:
                continue
            self.known.add(each.signature)
            if self.store is None:
                raise FoundError(f"{each.summary} [{each.signature}]")
            self.store.save_finding(each, case_of(), versions=self.versions)


def _make_sink(given: TargetSettings) -> _FindingSink:
    known = {*given.known, *read_unfixed_signatures(_CRASHES)}
    if not given.out:
        return _FindingSink(None, known)
    store = Store(Path(given.out))
    store.check_writable()
    return _FindingSink(store, known | store.read_signatures())


@dataclass(slots=True)
class _InputRunner:
    """Runs each input."""

    name: str
    check: Check
    sink: _FindingSink
    marker: Marker | None

    def __call__(self, data: bytes) -> None:
        marker, check = self.marker, self.check
        if marker is not None:
            marker.record_start(data)
        try:
            found = check(data)
        except SystemExit:
            # libFuzzer would report it as a crash without a cause.
            found = [self._make_death_finding("exit", "the target ended the process")]
        except (TargetError, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001 - a failing target is a finding
            kind = error_name(error)
            found = [self._make_death_finding(kind, f"{kind} left the target")]
        if found:
            self.sink.save_new(found, lambda: check.make_case(data))
        if marker is not None:
            marker.record_end(check.valid, check.calls)

    def _make_death_finding(self, kind: str, summary: str) -> Finding:
        return make_death(self.name, kind, summary)


def run_libfuzzer(
    atheris: Any, file: Path, name: str, arguments: list[str], given: TargetSettings
) -> None:
    """Run the target ``name`` under libFuzzer with its ``arguments``; does not return.

    ``file`` is the executable that libFuzzer starts again for ``-merge``, ``-fork`` and others.
    Raises UsageError and TargetError for settings that cannot be used.
    """
    check_readers()
    assert_ordered()
    behaviours = BehaviourCounters(lambda: atheris._trace_branch)
    check = make_check(name, given.targets, behaviours.count_behaviour)
    size = _find_max_size(arguments, MAX_SIZE[check.form])
    marker = Marker(Path(given.marker), size) if given.marker else None
    body = _InputRunner(name, check, _make_sink(given), marker)
    if given.marker:
        _exit_with_parent()
    extra: dict[str, Any] = {}
    if not given.plain:
        mutator = _make_mutator(atheris, check, arguments)
        extra["custom_mutator"] = lambda data, most, _seed: mutator.mutate_input(data, most)
        extra["custom_crossover"] = lambda one, two, most, _seed: mutator.cross_inputs(
            one, two, most
        )
    # libFuzzer starts argv[0] through a shell in some modes, so it must name the interpreter.
    argv = [f"{sys.executable} {file}", *_default_flags(size, plain=given.plain), *arguments]
    atheris.Setup(argv, body, **extra)
    if not given.plain:
        behaviours.reserve_counters(atheris._reserve_counter)
    atheris.Fuzz()


def _make_mutator(atheris: Any, check: Check, arguments: list[str]) -> Mutator:
    seed = next((a.removeprefix(_SEED) for a in arguments if a.startswith(_SEED)), "0")

    def scramble(data: bytes, most: int) -> bytes:
        made: bytes = atheris.Mutate(data, most)
        return made

    number = int(seed) if seed.isdecimal() else 0
    return Mutator(check.form, scramble, words=load_parser_words(), seed=number)


def _default_flags(size: int, *, plain: bool) -> list[str]:
    """Return default flags; those given come later and win."""
    depth = () if plain else ("-mutate_depth=1",)
    return [f"-max_len={size}", "-timeout=60", *depth]


def _find_max_size(arguments: list[str], default: int) -> int:
    given = [a.partition("=")[2] for a in arguments if a.startswith("-max_len=")]
    return int(given[-1]) if given and given[-1].isdecimal() and int(given[-1]) else default


def _exit_with_parent() -> None:
    """Exit when the parent dies: by a signal of the kernel, and at the end of stdin if it died
    before.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_exit_at_end_of_stdin, daemon=True).start()


def _exit_at_end_of_stdin() -> None:
    """Exit when the parent, which holds the other end of stdin, has died."""
    sys.stdin.buffer.read()
    os._exit(0)
