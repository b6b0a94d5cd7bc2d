"""One file for each fault: which findings are symptoms of the same one.

The key insight: a gateway that takes one kind of frame that it must reject acts, answers, and goes
on where it should have closed: three rules broken, one fault. In a minimized case whatever is not
needed is gone, so the first frame that the judge rejects is the cause: its rule names the fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fuzz.crashes.shelf import Entry
from fuzz.crashes.simpler import order
from oracles.session import judge_session
from strategies.contract import Contract
from strategies.records import Case

__all__ = ["MANY", "cause_of", "faults_of", "gravest_first"]

MANY = 5
"""A target that is wrong about more kinds of frames than this is wrong about rejected frames."""

_OWN = ("agreement", "compare", "client", "liveness")
"""Oracles whose signatures name the fault: its cause is no frame to be rejected."""

_GRAVITY = ("non-action", "session", "outbound", "liveness", "reply", "transcript", "agreement")


def cause_of(case: Case) -> str:
    """The rule of the first frame that has to be rejected, ``""`` if all are good."""
    judgement = judge_session(case.data, Contract(version=case.version, policy="continue"))
    return next((frame.rule for frame in judgement.frames if frame.rule), "")


def faults_of(entries: Iterable[Entry]) -> dict[str, str]:
    """The name of the fault that each entry shows, by its signature.

    For parsers, clients, starts, crashes and hangs that is the signature. For other targets it is
    the cause (``family|rule of the first frame to be rejected``), or without one the oracle's rule.
    """
    given = list(entries)
    names = {entry.metadata.signature: _fault(entry) for entry in given}
    causes = {name for name in names.values() if name.count("|") == 1}
    families = [name.partition("|")[0] for name in causes]
    general = {family for family in families if families.count(family) > MANY}
    return {
        signature: f"{name.partition('|')[0]}|any rejected frame"
        if name in causes and name.partition("|")[0] in general
        else name
        for signature, name in names.items()
    }


def _fault(entry: Entry) -> str:
    metadata = entry.metadata
    from_client = entry.case.direction == "client-to-server"
    if metadata.oracle in _OWN or not from_client or "cause" in metadata.options:
        return metadata.signature
    family = metadata.signature.partition("|")[0]
    cause = cause_of(entry.case)
    return f"{family}|{cause}" if cause else f"{family}|{metadata.oracle}|{metadata.rule}"


def gravest_first(entries: Collection[Entry]) -> Sequence[Entry]:
    """Entries in the order in which they best stand for a fault: gravest, then simplest."""
    return sorted(entries, key=lambda each: (_gravity(each), order(each.case.data)))


def _gravity(entry: Entry) -> int:
    oracle = entry.metadata.oracle
    return _GRAVITY.index(oracle) if oracle in _GRAVITY else len(_GRAVITY)
