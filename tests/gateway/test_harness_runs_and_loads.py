"""What the harness writes down of a session, however it ends, and which factories it can load."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case, Frame
from wirefence.targets.errors import TargetError
from wirefence.targets.gateway import ReferenceGateway
from wirefence.targets.gateway.journal import Journal
from wirefence.targets.harness import STACK_FRAMES, load_factory, run_case
from wirefence.targets.records import Act, Gateway, Trace

CASE = Case((Frame(b"one\n"), Frame(b"two\n"), Frame(b"three\n")), cuts=(4, 8))


class Scripted:
    """Answers each write with ``!`` and acts on it; does ``trick`` at the second write."""

    trick = staticmethod(lambda: None)

    def __init__(self, act: Act, contract: Contract) -> None:
        self.act = act
        self.heard: list[bytes] = []

    def feed(self, data: bytes) -> bytes:
        self.heard.append(data)
        if len(self.heard) == 2:
            self.trick()
        self.act("record", {"action": data.decode().strip()})
        return b"!"

    def eof(self) -> bytes:
        self.act("record", {"action": "late"})
        return b"?"


def play(trick: object = None, **options: float) -> Trace:
    members = {"trick": staticmethod(trick)} if trick else {}
    return run_case("scripted", type("Tricky", (Scripted,), members), CASE, Contract(), **options)


def stack_left() -> int:
    try:
        return 1 + stack_left()
    except RecursionError:
        return 0


def fall() -> int:
    return 1 + fall()


def sulk() -> None:
    time.sleep(5)


def test_effects_carry_how_much_had_been_sent() -> None:
    trace = play()
    seen = [(effect.action, effect.fed, effect.after_eof) for effect in trace.effects]
    assert seen == [("one", 4, False), ("two", 8, False), ("three", 14, False), ("late", 14, True)]
    assert (trace.stdout, trace.ending, trace.error) == (b"!!!?", "open", "")
    assert trace.marks == ((4, 1), (8, 2), (14, 3))


class PanicException(BaseException):
    """As that of pyo3, for what fails in Rust: no ``Exception``."""


def panic() -> None:
    raise PanicException("index out of bounds")


def cancel() -> None:
    raise asyncio.CancelledError


def interrupt() -> None:
    raise KeyboardInterrupt


def close() -> None:
    raise GeneratorExit


def malformed() -> None:
    json.loads("{")


@pytest.mark.parametrize(
    ("trick", "ending", "error"),
    [
        (malformed, "crashed", "json.decoder.JSONDecodeError"),
        (fall, "crashed", "RecursionError"),
        (sys.exit, "exited", ""),
        (panic, "crashed", f"{__name__}.PanicException"),
        (cancel, "crashed", "asyncio.exceptions.CancelledError"),
    ],
)
def test_the_session_ends_where_the_gateway_does(trick: object, ending: str, error: str) -> None:
    trace = play(trick)
    assert (trace.ending, trace.error) == (ending, error)
    assert [effect.action for effect in trace.effects] == ["one"]
    assert trace.marks == ((4, 1), (8, 1))


def test_a_gateway_that_does_not_return_has_hung() -> None:
    assert play(sulk, patience=0.05).ending == "hung"
    assert play(None, patience=5).ending == "open"


def test_a_key_press_is_not_the_gateways_doing() -> None:
    with pytest.raises(KeyboardInterrupt):
        play(interrupt)
    with pytest.raises(GeneratorExit):
        play(close)


def test_what_somebody_else_traces_is_not_held_by_the_gateway() -> None:
    tracemalloc.start()
    try:
        held = bytearray(1_000_000)
        trace = play()
    finally:
        tracemalloc.stop()
    assert (trace.held_bytes, trace.peak_bytes, len(held)) == (0, 0, 1_000_000)


def parsed(parse: Callable[[], object], **options: float) -> tuple[Trace, Journal]:
    """A session with the reference gateway whose parser does what ``parse`` does."""
    journal = Journal()

    def opened(act: Act, contract: Contract) -> Gateway:
        return ReferenceGateway(act, contract, parse=lambda _: parse(), journal=journal)

    return run_case("parsing", opened, CASE, Contract(policy="continue"), **options), journal


@pytest.mark.parametrize("trick", [malformed, panic, cancel])
def test_whatever_a_parser_raises_rejects_the_frame(trick: Callable[[], None]) -> None:
    trace, journal = parsed(trick)
    assert (trace.ending, trace.error) == ("open", "")
    assert [entry.rule for entry in journal.entries] == ["json-syntax"] * 3


def test_a_parser_that_ends_or_hangs_ends_the_session() -> None:
    assert parsed(sys.exit)[0].ending == "exited"
    assert parsed(sulk, patience=0.05)[0].ending == "hung"
    with pytest.raises(KeyboardInterrupt):
        parsed(interrupt)


def test_the_stack_does_not_depend_on_the_depth_of_the_caller() -> None:
    room: list[int] = []
    before = sys.getrecursionlimit()

    def at(depth: int) -> None:
        if depth:
            at(depth - 1)
        else:
            play(lambda: room.append(stack_left()))

    at(0)
    at(300)
    assert room[0] == room[1]
    assert STACK_FRAMES // 2 < room[0] < STACK_FRAMES
    assert sys.getrecursionlimit() == before


def test_arguments_changed_after_the_act_stay_as_they_were() -> None:
    class Reusing(Scripted):
        shared: dict[str, object] = {}  # noqa: RUF012 - to be shared is the fault

        def feed(self, data: bytes) -> bytes:
            self.shared["action"] = data.decode().strip()
            self.act("record", self.shared)
            return b""

    trace = run_case("reusing", Reusing, CASE, Contract())
    assert [effect.action for effect in trace.effects] == ["one", "two", "three", "late"]


def test_a_failing_factory_and_an_answer_that_is_no_bytes_are_target_errors() -> None:
    def failing(act: Act, contract: Contract) -> Gateway:
        raise ValueError("no licence")

    with pytest.raises(TargetError, match=r"target x: its factory failed: ValueError: no licence"):
        run_case("x", failing, CASE, Contract())

    with pytest.raises(TargetError, match=r"its factory failed: .*PanicException: index out of"):
        run_case("x", lambda act, contract: panic(), CASE, Contract())  # type: ignore[arg-type]

    class Mute(Scripted):
        def feed(self, data: bytes) -> bytes:
            return None  # type: ignore[return-value]

    with pytest.raises(TargetError, match="feed returned NoneType"):
        run_case("mute", Mute, CASE, Contract())


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ("", "does not name a factory"),
        ("wirefence.targets.gateway", "does not name a factory"),
        ("wirefence.targets.gateway:", "does not name a factory"),
        ("a b:c", "does not name a factory"),
        ("no_such_module:x", "no module named no_such_module"),
        ("wirefence.targets.gateway:nothing", "has no nothing"),
        ("wirefence.targets.harness:STACK_FRAMES", "is int, not a factory"),
    ],
)
def test_a_factory_that_cannot_be_loaded_says_why_and_what_to_do(spec: str, cause: str) -> None:
    with pytest.raises(TargetError, match=cause) as caught:
        load_factory(spec)
    assert caught.value.hint


def test_a_module_that_fails_to_import_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaking_module.py").write_text("raise ValueError('at import')")
    (tmp_path / "panicking_module.py").write_text("raise BaseException('at import')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TargetError, match="ValueError: at import"):
        load_factory("breaking_module:factory")
    with pytest.raises(TargetError, match="BaseException: at import"):
        load_factory("panicking_module:factory")


def test_a_named_factory_is_loaded_and_opens_sessions() -> None:
    acts: list[Mapping[str, object]] = []
    opened = load_factory("wirefence.targets.gateway:ReferenceGateway")(
        lambda _tool, arguments: acts.append(arguments), Contract()
    )
    assert opened.feed(b"\n")
