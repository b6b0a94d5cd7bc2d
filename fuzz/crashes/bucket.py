"""One file for each fault: which findings are symptoms of the same one.

The key insight: a gateway that takes one kind of frame that it must reject acts, answers, and goes
on where it should have closed: three rules broken, one fault. In a minimized case whatever is not
needed is gone, so the first frame that the judge rejects is the cause, unless any rejected frame in
its place would do: that is tried. And what shows together in a smallest case is one fault, until
one of them is mended and the other still shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fuzz.crashes.same import same
from fuzz.crashes.shelf import Entry
from fuzz.crashes.simpler import order
from fuzz.store import case_from_bytes
from oracles.records import Finding, FrameVerdict
from oracles.session import judge_session
from strategies.contract import Contract
from strategies.records import Case

__all__ = ["Refusal", "Run", "Show", "cause_of", "faults_of", "sort", "stood_in"]

Run = Callable[[Entry, Sequence[Case]], Sequence[Collection[Finding]]]
"""What an entry's target shows of other cases."""

Show = Callable[[Entry], Collection[Finding] | str]
"""What an entry shows in a fresh process, or why it does not show its finding there."""

_OWN = ("agreement", "compare", "client", "liveness")
"""Oracles whose signatures name the fault: its cause is no frame to be rejected."""

_REJECTED = (b"x", b"\xff", b'{"a":0,"a":0}')
_REFUSED = (
    b'{"jsonrpc":"2.0","id":%b,"method":"a"}',
    b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"a"}}',
)
"""Frames to be rejected by different rules, and requests to be refused by different rules."""

_GRAVITY = ("non-action", "session", "outbound", "liveness", "reply", "transcript", "agreement")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A finding that is not committed, and why."""

    entry: Entry
    why: str


def _first_rejected(case: Case) -> FrameVerdict | None:
    judgement = judge_session(case.data, Contract(version=case.version, policy="continue"))
    return next((frame for frame in judgement.frames if frame.rule), None)


def cause_of(case: Case) -> str:
    """The rule of the first frame that has to be rejected, ``""`` if all are good."""
    frame = _first_rejected(case)
    return frame.rule if frame else ""


def _has_cause(entry: Entry) -> bool:
    metadata = entry.metadata
    from_client = entry.case.direction == "client-to-server"
    return metadata.oracle not in _OWN and from_client and "cause" not in metadata.options


def stood_in(entry: Entry, run: Run) -> frozenset[str] | None:
    """What shows whatever rejected frame stands in the place of the first one.

    That is tried with frames of other rules. Signatures that all of them show (there may be none,
    where each shows something else); ``None`` if one shows nothing: then that frame is the cause.
    """
    frame = _first_rejected(entry.case) if _has_cause(entry) else None
    if frame is None:
        return None
    groups = [list(_instead(entry.case, frame, raws)) for raws in (_REJECTED, _REFUSED)]
    found = iter(run(entry, [case for group in groups for case in group]))
    shown = [[{f.signature for f in next(found)} for _ in group] for group in groups]
    common = [frozenset(set.intersection(*each)) for each in shown if each and all(each)]
    return frozenset().union(*common) if common else None


def _instead(case: Case, frame: FrameVerdict, raws: Iterable[bytes]) -> Iterator[Case]:
    ident = json.dumps(frame.ids[0] if frame.ids else 0).encode()
    for raw in raws:
        line = raw.replace(b"%b", ident) + b"\n"
        data = case.data[: frame.start] + line + case.data[frame.end :]
        made = case_from_bytes(data, protocol=case.version)
        if cause_of(made) not in ("", frame.rule):
            yield made


def faults_of(
    entries: Iterable[Entry], generals: Mapping[str, frozenset[str]] | None = None
) -> dict[str, str]:
    """The name of the fault that each entry shows, by its signature.

    For parsers, clients, starts, crashes and hangs that is the signature. For other targets it is
    the cause (``family|rule of the first frame to be rejected``), or without one the oracle's rule.
    ``generals`` are the signatures for which any rejected frame will do, with what shows then: if
    that is a fault that needs no rejected frame, it is that fault.
    """
    names = {each.metadata.signature: _fault(each) for each in entries}
    plain = {name: fault for name, fault in names.items() if name not in (generals or {})}
    for name, shown in (generals or {}).items():
        other = next((plain[each] for each in sorted(shown) if each in plain), None)
        names[name] = other or f"{name.partition('|')[0]}|any rejected frame"
    return names


def _fault(entry: Entry) -> str:
    metadata = entry.metadata
    if not _has_cause(entry):
        return metadata.signature
    family = metadata.signature.partition("|")[0]
    cause = cause_of(entry.case)
    return f"{family}|{cause}" if cause else f"{family}|{metadata.oracle}|{metadata.rule}"


@dataclass(slots=True)
class _Desk:
    """What is taken so far, and what each of that shows."""

    taken: list[Entry]
    show: Show
    faults: Mapping[str, str]
    seen: dict[str, set[str]] = field(default_factory=dict)

    def refuses(self, entry: Entry) -> str:
        """Why an entry is not taken; ``""`` where it is."""
        return self._known(entry) or self._symptom(entry) or self._unshown(entry)

    def _known(self, entry: Entry) -> str:
        test = same(entry.metadata.finding())
        other = next((each for each in self.taken if test(each.metadata.finding())), None)
        return f"is known already, as {other.id} ({other.metadata.status})" if other else ""

    def _symptom(self, entry: Entry) -> str:
        signature = entry.metadata.signature
        fault = self.faults.get(signature)
        for other in self.taken:
            if fault and self.faults[other.metadata.signature] == fault:
                return f"is another symptom of the fault of {other.id} ({fault})"
            if fault and signature in self.seen.get(other.metadata.signature, ()):
                return f"shows in the reproducer of {other.id} too"
        return ""

    def _unshown(self, entry: Entry) -> str:
        found = self.show(entry)
        if isinstance(found, str):
            return found
        shown = {each.signature for each in found}
        faults = self._faults(shown) - {self.faults.get(entry.metadata.signature)}
        other = next((e for e in self.taken if faults & self._faults({e.metadata.signature})), None)
        if other and self.faults:
            return f"cannot be had without the fault of {other.id}"
        self.seen[entry.metadata.signature] = shown
        return ""

    def _faults(self, signatures: Iterable[str]) -> set[str | None]:
        return {self.faults.get(each, each) for each in signatures}


def sort(
    entries: Collection[Entry],
    known: Sequence[Entry],
    show: Show,
    run: Run | None,
) -> tuple[list[Entry], list[Refusal]]:
    """Divide minimized findings into one for each fault, and those refused.

    Without ``run`` every signature is taken that is not known. The gravest stands for a fault,
    among equals the simplest.
    """
    faults: Mapping[str, str] = {}
    if run is not None:
        every = [*known, *entries]
        families = {_family(each) for each in entries if _has_cause(each)}
        asked = [each for each in every if _family(each) in families]
        tried = {each.metadata.signature: stood_in(each, run) for each in asked}
        faults = faults_of(every, {name: s for name, s in tried.items() if s is not None})
    desk = _Desk(list(known), show, faults)
    refused = []
    for entry in sorted(entries, key=_gravest_first):
        if why := desk.refuses(entry):
            refused.append(Refusal(entry, why))
        else:
            desk.taken.append(entry)
    return desk.taken[len(known) :], refused


def _family(entry: Entry) -> str:
    return entry.metadata.signature.partition("|")[0]


def _gravest_first(entry: Entry) -> tuple[int, tuple[int, bytes]]:
    oracle = entry.metadata.oracle
    grave = _GRAVITY.index(oracle) if oracle in _GRAVITY else len(_GRAVITY)
    return grave, order(entry.case.data)
