"""Put the trials that a server process was sent before another one into one session with it.

A fault that needs several calls shows in a pipelined server and not in a fresh process that is sent
one trial. A session that holds the trials before it as well shows it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wirefence.fuzz.gate.records import SentPart
from wirefence.fuzz.gate.server.fresh import PreparedTrial, prepare_trial
from wirefence.fuzz.gate.trials.messages import rename_part
from wirefence.fuzz.store.store import case_from_bytes

__all__ = ["join_history"]


def join_history(prepared: PreparedTrial, history: Sequence[SentPart]) -> PreparedTrial:
    """Return a trial whose session begins with the trials of a history."""
    if not history:
        return prepared
    trial = prepared.trial
    data, opening = trial.case.data, trial.opening
    parts = b"".join(
        rename_part(part.data, part.number, place, trial.number)
        for place, part in enumerate(history)
    )
    joined = data[:opening] + parts + data[opening:]
    case = case_from_bytes(joined, protocol=trial.case.version)
    case = replace(case, damage=trial.case.damages())
    return prepare_trial(replace(trial, case=case), prepared.contract)
