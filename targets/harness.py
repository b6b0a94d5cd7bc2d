"""Runs one case through one in-process gateway and writes down what was seen.

The harness must not add behaviour of its own. It feeds the writes of the case in
order and stops at the first exception, as a process would have died there; how much stack the
gateway finds does not depend on how deep the caller happens to be.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from types import FrameType
from typing import NoReturn, cast

from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case
from wirefence.targets.errors import TargetError
from wirefence.targets.recorder import Recorder
from wirefence.targets.records import Ending, Gateway, GatewayFactory, Trace

__all__ = ["MEASURED", "STACK_FRAMES", "error_name", "load_factory", "run_case"]

STACK_FRAMES = 1_000
"""Frames of Python stack a gateway may use: the default limit of an interpreter of its own."""


MEASURED = 1 << 20
"""Bytes of input above which memory is measured: tracing slows a gateway down several times."""


_Memory = Callable[[], tuple[int, int]]
"""Bytes that Python has allocated: now, and at most. Both 0 where nothing is measured."""


class _HungError(KeyboardInterrupt):
    """Raised by the alarm: whatever lets a key press pass lets it pass too, in any reader."""


_NOT_ITS_FAILURE = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What goes on to our caller. All else is of a target, also what is no ``Exception``: the panic of
a Rust library, ``asyncio.CancelledError``."""


class _Session:
    """One gateway, what it said and how far it was fed."""

    __slots__ = ("gateway", "held", "marks", "memory", "name", "recorder", "stdout")

    def __init__(self, name: str, gateway: Gateway, recorder: Recorder, memory: _Memory) -> None:
        self.name = name
        self.gateway = gateway
        self.recorder = recorder
        self.memory = memory
        self.stdout = bytearray()
        self.marks: list[tuple[int, int]] = []
        self.held = 0

    def play(self, chunks: list[bytes]) -> None:
        """Feed every chunk, then the end of stdin."""
        for chunk in chunks:
            self.recorder.fed += len(chunk)
            try:
                self._hear(self.gateway.feed(chunk), "feed")
            finally:
                self.marks.append((self.recorder.fed, len(self.stdout)))
                self.held = max(self.held, self.memory()[0])
        self.recorder.after_eof = True
        self._hear(self.gateway.eof(), "eof")

    def _hear(self, said: object, method: str) -> None:
        if not isinstance(said, bytes):
            raise TargetError(
                f"target {self.name}: {method} returned {type(said).__name__}",
                "Both methods of a gateway must return bytes",
            )
        self.stdout += said


def run_case(
    name: str,
    factory: GatewayFactory,
    case: Case,
    contract: Contract,
    *,
    patience: float | None = None,
) -> Trace:
    """Play ``case`` against a new session of ``factory`` and return its trace.

    ``patience`` (seconds of wall time) is a coarse guard against endless loops; it works in the
    main thread only and is off by default. ``Trace.seconds`` is wall time of the session.

    Raises:
        TargetError: the factory failed, or the gateway returned something other than bytes.

    """
    recorder = Recorder()
    chunks = case.chunks()
    with _pinned_stack(), _trace_memory(sum(map(len, chunks))) as memory:
        session = _Session(name, _open_session(name, factory, recorder, contract), recorder, memory)
        started = time.perf_counter()
        ending, error = _play_chunks(session, chunks, patience)
        seconds = time.perf_counter() - started
        peak_bytes = memory()[1]
    return Trace(
        target=name,
        stdout=bytes(session.stdout),
        effects=tuple(recorder.effects),
        ending=ending,
        error=error,
        marks=tuple(session.marks),
        seconds=seconds,
        peak_bytes=peak_bytes,
        held_bytes=session.held,
    )


def load_factory(spec: str) -> GatewayFactory:
    """Return the factory that ``package.module:factory`` names; dots may follow the colon too.

    Raises:
        TargetError: the spec has another form, its import fails, the attribute is missing or is
            not callable.

    """
    module_name, colon, path = spec.partition(":")
    if not colon or not all(
        part.isidentifier() for part in [*module_name.split("."), *path.split(".")]
    ):
        raise TargetError(f"{spec!r} does not name a factory", "write package.module:factory")
    module = _import_module(module_name)
    try:
        found: object = reduce(getattr, path.split("."), module)
    except AttributeError:
        raise TargetError(
            f"module {module_name} has no {path}", "check the name after the colon"
        ) from None
    if not callable(found):
        raise TargetError(
            f"{spec} is {type(found).__name__}, not a factory",
            "a factory is called with (act, contract) and returns a gateway",
        )
    return cast("GatewayFactory", found)


def error_name(error: BaseException) -> str:
    """Qualified type of an exception: ``RecursionError``, ``json.decoder.JSONDecodeError``."""
    kind = type(error)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _import_module(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        raise TargetError(
            f"cannot import {name}: no module named {missing}",
            "install it, or put its folder on PYTHONPATH",
        ) from error
    except _NOT_ITS_FAILURE:
        raise
    except BaseException as error:
        raise TargetError(
            f"cannot import {name}: {error_name(error)}: {error}",
            f"see why with: python -c 'import {name}'",
        ) from error


def _open_session(
    name: str, factory: GatewayFactory, recorder: Recorder, contract: Contract
) -> Gateway:
    try:
        return factory(recorder, contract)
    except _NOT_ITS_FAILURE:
        raise
    except BaseException as error:
        raise TargetError(
            f"target {name}: its factory failed: {error_name(error)}: {error}",
            "a factory is called with (act, contract) and returns a gateway",
        ) from error


def _play_chunks(
    session: _Session, chunks: list[bytes], patience: float | None
) -> tuple[Ending, str]:
    try:
        with _raise_after(patience):
            session.play(chunks)
    except SystemExit:
        return "exited", ""
    except _HungError:
        return "hung", ""
    except (TargetError, *_NOT_ITS_FAILURE):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever escapes a reader is what we are here to see
        return "crashed", error_name(error)
    return "open", ""


@contextmanager
def _pinned_stack() -> Iterator[None]:
    """Give the block ``STACK_FRAMES`` frames above its caller, whatever lies below."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_count_frames() + STACK_FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def _trace_memory(size: int) -> Iterator[_Memory]:
    """Count what Python allocates in the block, if its input is large; gives what asks for it.

    Nothing is measured where somebody else traces this process: what he holds counts there too.
    """
    if size <= MEASURED or tracemalloc.is_tracing():
        yield lambda: (0, 0)
        return
    tracemalloc.start()
    try:
        yield tracemalloc.get_traced_memory
    finally:
        tracemalloc.stop()


def _count_frames() -> int:
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


@contextmanager
def _raise_after(patience: float | None) -> Iterator[None]:
    """Raise ``_HungError`` in the block after ``patience`` seconds, where signals can be had."""
    if patience is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _on_alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, patience)
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, before)


def _on_alarm(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _HungError
