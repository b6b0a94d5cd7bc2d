"""Measure the speed of the grammar, the judge, the parser loop and the gateway.

Machines differ and are shared, so every figure is in CPU time of this process. The parser loop is a
ratio to the parsers alone in the same run.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from itertools import islice
from typing import TypeVar

import hypothesis
from hypothesis.strategies import SearchStrategy

from wirefence import strategies
from wirefence.fuzz.examination.cases import generate_block
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import Case, Frame
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource
from wirefence.targets.gateway.session import factory
from wirefence.targets.harness import run_case
from wirefence.targets.parsers.configs import BY_NAME, CONFIGS
from wirefence.targets.parsers.outcomes import is_dangerous, outcomes_of

__all__ = ["as_table", "as_text", "measure"]

T = TypeVar("T")

_ROUNDS = 5
_MILLION = 1_000_000


def measure() -> dict[str, object]:
    """Measure everything; rates are per second of CPU time on one core."""
    return {
        "grammar, frames/s": _measure_grammar(),
        "grammar, damaged sessions/s": _measure_damaged_sessions(),
        "grammar, JSON texts/s": _measure_json_texts(),
        "Hypothesis, frames/s in sessions": _measure_strategy(strategies.sessions(), _count_frames),
        "Hypothesis, single frames/s": _measure_strategy(strategies.frames(), _count_one),
        "Hypothesis, damaged frames/s": _measure_strategy(strategies.damaged_frames(), _count_one),
        "Hypothesis, JSON texts/s": _measure_strategy(strategies.json_texts(), _count_one),
        "Hypothesis, integers/s (its own cost)": _measure_strategy(_INTEGERS, _count_one),
        "judge, frames/s": _measure_judge(_make_good_session),
        "judge, frames/s of about 300 bytes": _measure_judge(_make_session_of_300_bytes),
        "judge, frames/s of 300 bytes and 60 values": _measure_judge(_make_session_of_60_values),
        "gateway over orjson, sessions/s": _measure_gateway(),
        "parser loop, cost against the parsers alone": _measure_parser_loop(),
        "campaign, cases/s in one process": _measure_campaign(),
    }


def _find_best_rate(work: Callable[[], int]) -> float:
    """The best rate of several rounds, since noise only ever adds time."""
    rates = []
    for _ in range(_ROUNDS):
        begun = time.process_time()
        count = work()
        rates.append(count / (time.process_time() - begun))
    return round(max(rates), 1)


def _make_good_session(source: RandomSource) -> Case:
    return session(source, "2025-11-25", damage=None, prefix="b-")


def _measure_grammar() -> float:
    source = RandomSource(random.Random(1))
    return _find_best_rate(
        lambda: sum(len(_make_good_session(source).frames) for _ in range(2_000))
    )


def _measure_damaged_sessions() -> float:
    number = iter(range(_MILLION))
    return _find_best_rate(
        lambda: sum(1 for _ in range(20) for _ in generate_block(1, next(number)))
    )


def _measure_json_texts() -> float:
    source = RandomSource(random.Random(1))
    return _find_best_rate(lambda: sum(1 for _ in range(5_000) if json_text(source)))


_INTEGERS = hypothesis.strategies.integers(0, _MILLION)


def _count_frames(case: Case) -> int:
    return len(case.frames)


def _count_one(_: object) -> int:
    return 1


def _measure_strategy(strategy: SearchStrategy[T], count: Callable[[T], int]) -> float:
    """Return the rate at which Hypothesis draws from a strategy for a test that does nothing."""
    quiet = hypothesis.settings(
        max_examples=1_000,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def work() -> int:
        made = 0

        @hypothesis.seed(1)
        @quiet
        @hypothesis.given(strategy)
        def draw(each: T) -> None:
            nonlocal made
            made += count(each)

        draw()
        return made

    return _find_best_rate(work)


def _measure_judge(make: Callable[[RandomSource], Case]) -> float:
    """Rate of the judge; no session comes twice, since verdicts on equal frames are remembered."""
    source = RandomSource(random.Random(2))
    contract = Contract(policy="continue")
    cases = iter([make(source).data for _ in range(300 * _ROUNDS)])

    def work() -> int:
        return sum(len(judge_session(data, contract).frames) for data in islice(cases, 300))

    return _find_best_rate(work)


def _make_session_of_300_bytes(source: RandomSource) -> Case:
    """Frames of the grammar whose length is near 300 bytes."""
    frames: list[Frame] = []
    while len(frames) < 4:
        frames += [
            each for each in _make_good_session(source).frames if 240 <= len(each.raw) <= 360
        ]
    return Case(tuple(frames))


def _make_session_of_60_values(source: RandomSource) -> Case:
    """Calls with far more tokens than usual: many short values, some of them nested."""
    items = b",".join(b'{"n":%d,"v":[%d,true]}' % (n, source.integer(0, 999)) for n in range(9))
    call = (
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"record",'
        b'"arguments":{"action":"a","options":{"items":[%b]}}}}\n'
    )
    return Case(tuple(Frame(call % (source.integer(0, 10**6), items)) for _ in range(4)))


_SESSION = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"record",'
    b'"arguments":{"action":"a-1","note":"bench"}}}\n'
)


def _measure_gateway() -> float:
    opened = factory(parse=BY_NAME["orjson"].parse)

    def sessions() -> int:
        for _ in range(2_000):
            opened(_do_nothing, _CONTRACT).feed(_SESSION)
        return 2_000

    return _find_best_rate(sessions)


_CONTRACT = Contract()


def _do_nothing(tool: str, arguments: object) -> None:
    """An executor that does nothing, so that the gateway alone is measured."""


def _measure_parser_loop() -> float:
    """CPU time of the N-way loop with canonical values, over that of bare parse calls."""
    source = RandomSource(random.Random(3))
    frames = [f.raw.rstrip(b"\n") for _ in range(300) for f in _make_good_session(source).frames]
    documents = [raw for raw in dict.fromkeys(frames) if not is_dangerous(raw)]
    ratios = []
    for _ in range(_ROUNDS):
        begun = time.process_time()
        for raw in documents:
            for config in CONFIGS:
                try:  # noqa: SIM105 - a context manager would be most of what is measured
                    config.parse(raw)
                except Exception:  # noqa: BLE001, S110 - only the time of a refusal counts here
                    pass
        bare = time.process_time() - begun
        begun = time.process_time()
        for raw in documents:
            outcomes_of(CONFIGS, raw)
        ratios.append((time.process_time() - begun) / bare)
    return round(min(ratios), 2)


def _measure_campaign() -> float:
    factories = factory(parse=BY_NAME["orjson[strict]"].parse)
    examiner = Examiner(CONFIGS, ())
    number = iter(range(_MILLION))

    def work() -> int:
        cases = list(islice(generate_block(3, next(number)), 64))
        for case in cases:
            examiner.examine_case(case)
            run_case("bench", factories, case, Contract(version=case.version))
        return len(cases)

    return _find_best_rate(work)


def as_table(figures: dict[str, object]) -> str:
    """Figures for people, one on a line."""
    return "\n".join(f"{name:<48} {_format_figure(value):>12}" for name, value in figures.items())


def _format_figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def as_text(content: dict[str, object]) -> str:
    """Figures for programs: indented JSON."""
    return json.dumps(content, indent=1)
