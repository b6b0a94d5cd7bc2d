"""A living server spares most processes of a reduction, and has no say in what is kept."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.crashes.conftest import CALL, HANDSHAKE
from tests.crashes.test_other_subjects import OPTIONS, SERVER
from wirefence.fuzz.crashes import warm_server as module
from wirefence.fuzz.crashes.minimize import (
    MinimizeLimits,
    MinimizeResult,
    _Session,
    minimize_reproducer,
)
from wirefence.fuzz.crashes.rerun import CaseRunners, Subject, find_faults
from wirefence.fuzz.crashes.warm_server import WarmServer
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import Finding, make_finding
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

NAN = (CALL % (77, 77)).replace(b'"params":{', b'"params":{"ttl":NaN,')
CASE = case_from_bytes(b"9\n")
WANTED = make_finding("non-action", "act-rejected", "s", "x", "")


class Told:
    """A living server that says what it is told to, and fresh ones that are counted."""

    def __init__(self, said: Sequence[bool | None], fresh: Sequence[bool]) -> None:
        self.said, self.fresh, self.ran = list(said), list(fresh), 0
        self.count = 1

    def screen_cases(
        self, cases: Sequence[Case], _best: Case, _deadline: float | None
    ) -> list[Any]:
        return self.said[: len(cases)]

    def run_cases(self, cases: Sequence[Case]) -> list[list[Finding]]:
        self.ran += len(cases)
        return [[WANTED] if self.fresh.pop(0) else [] for _ in cases]


def kept(told: Told, count: int = 1, deadline: float | None = None) -> list[bool]:
    told.count = count
    entry = Entry(Path("x.frame"), make_metadata(WANTED, CASE, versions={}), CASE)
    session: Any = _Session(entry, Store(Path()), told, lambda *_: None)  # type: ignore[arg-type]
    session.living, session.deadline = told, deadline
    return session.keeps_many([b"%d\n" % n for n in range(len(told.said))])  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("said", "fresh", "ran", "result"),
    [
        ([False, False], [], 0, [False, False]),
        ([False, True, True], [True], 1, [False, True, True]),
        ([True, False, True], [False, True], 2, [False, False, True]),
        ([None, None, None], [False, True], 2, [False, True, True]),
        ([True, True], [False, False], 2, [False, False]),
    ],
)
def test_what_it_does_not_show_is_not_run_and_what_it_shows_is_until_one_keeps(
    said, fresh, ran, result
):
    told = Told(said, fresh)
    assert kept(told) == result
    assert told.ran == ran


def test_several_are_run_at_once_where_there_are_several_workers():
    told = Told([None] * 5, [False, False, True, True])
    assert kept(told, 2) == [False, False, True, True, True]
    assert told.ran == 4


def test_out_of_time_nothing_is_run_and_nothing_kept():
    told = Told([True, None], [True, True])
    assert kept(told, deadline=time.monotonic() - 1) == [False, False]
    assert told.ran == 0


class Open:
    """Stands for the process of a server."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


def finding_of(oracle: str) -> Finding:
    return make_finding(oracle, "rule", "server", "none", "")


def asked(monkeypatch: pytest.MonkeyPatch, *answers: list[bool] | TargetError) -> tuple[Any, Open]:
    left = list(answers)

    def answer(*_: object) -> list[bool]:
        said = left.pop(0)
        if isinstance(said, TargetError):
            raise said
        return said

    subject = Subject("server", Launch(("no-such-command",)), options=OPTIONS)
    made: Any = WarmServer(subject, finding_of("liveness"))
    made._warm, made._facts = warm, _ = Open(), object()
    monkeypatch.setattr(WarmServer, "_screen_trials", answer)
    return made, warm


def test_a_server_that_no_longer_shows_the_best_is_replaced_once(monkeypatch):
    made, warm = asked(monkeypatch, [False, False], [True, True])
    assert made.screen_cases([CASE], CASE) == [True]
    assert warm.closed == 1
    made, warm = asked(monkeypatch, [False, False], [True, False])
    assert made.screen_cases([CASE], CASE) == [None]
    assert made.screen_cases([CASE], CASE) == [None]


def test_a_server_that_does_not_come_back_and_one_out_of_time_say_nothing(monkeypatch):
    made, _ = asked(monkeypatch, TargetError("gone", "start it"))
    assert made.screen_cases([CASE], CASE) == [None]
    made, _ = asked(monkeypatch, [True, True])
    assert made.screen_cases([CASE], CASE, time.monotonic() - 1) == [None]


def test_findings_that_end_or_spoil_a_server_are_not_asked_about():
    subject = Subject("server", Launch(("no-such-command",)), options=OPTIONS)
    for oracle in ("liveness", "session"):
        with WarmServer(subject, finding_of(oracle)) as living:
            assert living.screen_cases([CASE], CASE) == [None]
    with pytest.raises(TargetError):
        WarmServer(subject, finding_of("reply"))


def test_numbers_for_ids_are_made_new_and_stay_equal_where_they_were():
    data = b'{"id":1}\n{"id":2,"method":"a"}\n{"id":1}\n{"id":1.0}\n{"id":"1"}\n{"id":0e}\n'
    made = module._replace_ids(data, 7)
    assert made == data.replace(b'"id":1}', b'"id":7000000}').replace(b'"id":2', b'"id":7000001')
    assert module._replace_ids(data, 8) != made


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (HANDSHAKE, len(HANDSHAKE)),
        (HANDSHAKE + NAN, len(HANDSHAKE)),
        (NAN + HANDSHAKE, 0),
        (HANDSHAKE.splitlines(keepends=True)[0] + NAN, 0),
        (b"", 0),
    ],
)
def test_a_handshake_is_left_out_where_it_comes_first_and_whole(data, size):
    judgement = judge_session(data, Contract(policy="continue"))
    assert module._find_handshake_end(judgement) == size


def test_a_finding_of_a_server_takes_few_processes_and_keeps_its_signature(tmp_path, monkeypatch):
    (tmp_path / "acts").mkdir()
    launch = Launch((sys.executable, str(SERVER), str(tmp_path / "acts"), "TakesNan"))
    case = case_from_bytes(HANDSHAKE + CALL % (1, 1) + CALL % (2, 2) + NAN)
    subject = Subject("server", launch, options=OPTIONS)
    found = next(f for f in find_faults(case, subject) if f.oracle == "non-action")
    metadata = make_metadata(found, case, versions={"s": "1"}, launch=launch, options=OPTIONS)
    store = Store(tmp_path / "found")
    entry = Entry(store.write_reproducer(metadata, case.data), metadata, case)
    fresh = []
    run = CaseRunners.run_cases
    monkeypatch.setattr(
        CaseRunners, "run_cases", lambda self, cases: fresh.extend(cases) or run(self, cases)
    )
    said: MinimizeResult = minimize_reproducer(
        entry, store, MinimizeLimits(limit=90), lambda *_: None
    )
    assert said.entry.metadata.signature == found.signature
    assert said.entry.case.data.count(b"\n") == 3
    assert len(fresh) < said.executions / 3
