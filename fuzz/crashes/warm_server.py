"""Screen candidates of a reduction with one long-lived ("warm") server.

Most edits lose the finding. A warm server shows that in a millisecond, a fresh one in a second. So
all candidates go to the warm server, and only those that show the finding there run in a fresh
process. Each batch ends with the best case so far as a control: if that shows nothing, the results
are discarded.
"""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Self

from wirefence.fuzz.crashes.rerun import Subject
from wirefence.fuzz.gate.records import Facts, Options, Trial
from wirefence.fuzz.gate.server.discovery import discover_server
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import find_showing
from wirefence.fuzz.gate.trials.messages import STATELESS, rename_tokens, tokens_in
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding, Judgement
from wirefence.strategies.records import Case
from wirefence.targets.errors import TargetError

__all__ = ["WarmServer"]

_IDS = 1_000_000
"""Ids of case *n* start at *n* times this, beyond ids in usual inputs."""

_ID = re.compile(rb'(?<="id":)[0-9]{1,9}(?=[,}])')

_SPOILING = ("liveness", "session", "client", "smoke")
"""Oracles whose findings end or spoil a warm server, or concern its start or end."""


class WarmServer:
    """A server under ``subject`` that screens cases for one finding. Close it, or use it as a
    context.

    Raises TargetError if the server cannot be started.
    """

    def __init__(self, subject: Subject, finding: Finding) -> None:
        assert subject.launch is not None
        options = Options.from_settings(
            dict(subject.options), label=subject.target.partition("/")[0]
        )
        self._profile, self._signature = options.profile, finding.signature
        self._numbers = count(1)
        self._lab = FreshServers(subject.launch, options)
        self._facts: Facts | None = None
        self._warm: PipelinedServer | None = None
        if finding.oracle not in _SPOILING:
            self._start_server()

    def _start_server(self) -> None:
        try:
            facts = discover_server(self._lab)
        except BaseException:
            self._lab.close()
            raise
        if facts.policy == "continue":  # else a rejected frame would end it
            self._facts, self._warm = facts, PipelinedServer(self._lab, facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server; it then answers ``None`` for every case."""
        if self._warm is not None:
            self._warm.close()
            self._warm = None
        self._lab.close()

    def screen_cases(
        self, cases: Sequence[Case], best: Case, deadline: float | None = None
    ) -> list[bool | None]:
        """Return whether each case shows the finding; ``None`` if the server cannot be used for it.

        ``best`` is a case that showed the finding. If it does not show it again, the server is
        replaced once. Nothing is sent after ``deadline`` (by ``time.monotonic``).
        """
        latest = math.inf if deadline is None else deadline
        for _ in range(2):
            if self._warm is None or self._facts is None or time.monotonic() > latest:
                break
            try:
                *said, control = self._screen_trials(
                    self._warm, self._facts, [*cases, best], latest
                )
            except TargetError:
                break
            if control:
                return said
            self._warm.close()
        self.close()
        return [None] * len(cases)

    def _screen_trials(
        self, warm: PipelinedServer, facts: Facts, cases: Sequence[Case], latest: float
    ) -> list[bool | None]:
        made = [self._make_trial(case, facts) for case in cases]
        asked = [each for each in made if each is not None]
        # A case without our tokens cannot be attributed among others, so it is sent alone.
        together = [asked] if all(map(_has_tokens, asked)) else [[each] for each in asked]
        shown = {
            number
            for some in together
            for number in find_showing(warm, facts, some, self._signature, latest)
        }
        return [None if each is None else each.trial.number in shown for each in made]

    def _make_trial(self, case: Case, facts: Facts) -> PreparedTrial | None:
        """Return a case as a trial with unique names; ``None`` if it cannot be one."""
        if case.cuts or case.version != facts.version or not case.data.endswith(b"\n"):
            return None
        number = next(self._numbers)
        data = _replace_ids(rename_tokens(case.data, number), number)
        made = case_from_bytes(data, protocol=case.version)
        contract = facts.make_contract(self._profile, case.version)
        trial = Trial("replay", "replay", "after", made, number=number, warm=True)
        prepared = prepare_trial(trial, contract)
        opening = _find_handshake_end(prepared.judgement)
        if not opening and case.version != STATELESS:
            return None
        trial = Trial("replay", "replay", "after", made, opening, number=number, warm=True)
        return PreparedTrial(trial, prepared.judgement, prepared.owed, contract)


def _replace_ids(data: bytes, number: int) -> bytes:
    """Return the bytes with unique ids, equal ones for equal ones.

    A session may use each id only once, and this session runs many cases.
    """
    new = count(number * _IDS)
    made: dict[bytes, int] = defaultdict(lambda: next(new))
    return _ID.sub(lambda hit: b"%d" % made[hit.group()], data)


def _has_tokens(prepared: PreparedTrial) -> bool:
    """Whether every line behind the handshake bears a name that the gate gave."""
    data = prepared.trial.case.data[prepared.trial.opening :]
    return all(map(tokens_in, data.split(b"\n")[:-1]))


def _find_handshake_end(judgement: Judgement) -> int:
    """Return the size of a complete handshake at the start, 0 if there is none."""
    first = judgement.frames[:2]
    methods = [frame.method for frame in first if frame.accepted]
    return first[1].end if methods == ["initialize", "notifications/initialized"] else 0
