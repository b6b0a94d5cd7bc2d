"""Say what signs of faults a run leaves unconfirmed, with their bytes: such a run is no pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirefence.fuzz.gate.records import Report, Sign
from wirefence.fuzz.gate.report.finding_details import show_both_ends, show_start
from wirefence.fuzz.store.redaction import Redactor

__all__ = ["describe_sign", "explain_signs", "list_signs"]


def explain_signs(signs: Iterable[Sign]) -> str:
    """Return why a run with these signs is no pass; ``""`` where a baseline accepts them all."""
    new = [sign for sign in signs if not sign.known]
    waiting, lost = (
        _count_signs(sum(s.pending is pending for s in new)) for pending in (True, False)
    )
    if waiting:
        return f"the time was spent before {waiting} could be run again"
    return f"{lost} could not be shown again in a fresh process" if lost else ""


def _count_signs(number: int) -> str:
    if number == 1:
        return "1 sign of a fault"
    return f"{number} signs of faults" if number else ""


def list_signs(report: Report) -> list[Sign]:
    """Return the signs that a run leaves: first those that were not shown again."""
    return sorted(report.tally.signs.values(), key=lambda sign: sign.pending)


def describe_sign(sign: Sign, hide: Redactor) -> Iterator[tuple[str, str]]:
    """Yield name and text of each detail; one line each, not escaped for any format."""
    known = ", in the baseline" if sign.known else ""
    state = "there was no time to run it again" if sign.pending else "it was not shown again"
    yield "sign", f"{sign.finding.signature}: {sign.finding.summary}"
    yield "state", f"seen {sign.count} times in {sign.trial}; {state}{known}"
    yield "sent", show_both_ends(hide.redact_bytes(sign.sent))
    if sign.finding.offending:
        yield "offending", show_start(hide.redact_bytes(sign.finding.offending))
