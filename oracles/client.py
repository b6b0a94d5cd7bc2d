"""Oracle *client*: does a client fail closed when its server answers badly?

A client may end, raise, wait or go on; all of these are safe. Unsafe are: a false token in its
results, a true token under another action, and a session that goes on although no permitted answer
opened it. Only the last needs no report from the client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from wirefence.oracles.crash_names import find_last_error, name_crash
from wirefence.oracles.records import Finding, make_finding
from wirefence.oracles.rules import BY_ID

__all__ = ["MALFORMED", "NOT_A_SIGN", "ClientEvidence", "ClientReport", "check_client"]

NOT_A_SIGN = frozenset({"initialize", "server/discover", "ping", "notifications/cancelled"})
"""Methods that a client may send without having been answered."""

MALFORMED = "mcp-result"
"""Stands for the rule of an answer whose result is malformed; the rules of frames know none."""
_WELL_FORMED = "A result has the members and types that the schema of its method demands."


@dataclass(frozen=True, slots=True)
class ClientReport:
    """What a client reports of one action: the text of its result, or of its error."""

    action: str
    text: str
    error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEvidence:
    """What one client did under one bad answer.

    ``attack`` names the answer and ``about`` describes it; ``rule`` is the rule that its bytes
    break, ``""`` where they are valid and belong to no request. ``expected`` is what a client must
    do with it. ``lenient`` says that the profile lets a client take it. ``opening`` says that it
    was the answer to a handshake which opens the session. ``methods`` is what the client sent
    afterwards. ``truth`` maps actions to the tokens of their true answers, ``false`` is the token
    of the false one.
    """

    target: str
    attack: str
    about: str
    rule: str
    expected: Literal["reject", "ignore", "accept"]
    lenient: bool
    handshake: bool
    opening: bool
    methods: tuple[str, ...]
    truth: Mapping[str, str]
    false: str
    reports: tuple[ClientReport, ...]
    ending: Literal["exited", "crashed", "hung"]
    status: str
    stderr: bytes
    offending: bytes

    def make_finding(self, effect: str, text: str) -> Finding:
        """Make a finding about the answer; the same one at another place is the same fault."""
        return make_finding("client", effect, self.target, self.attack, text, self.offending)


def check_client(evidence: ClientEvidence) -> list[Finding]:
    """Return a finding for every rule that a client broke, each signature once."""
    found = [] if evidence.lenient else list(_check_answers(evidence))
    found += [*_check_acceptance(evidence), *_check_ending(evidence)]
    return list({each.signature: each for each in reversed(found)}.values())[::-1]


def _check_answers(evidence: ClientEvidence) -> Iterator[Finding]:
    yield from _check_results(evidence)
    yield from _check_continuation(evidence)
    yield from _check_association(evidence)


def _name_fault(evidence: ClientEvidence) -> tuple[str, str]:
    """Return the effect, and why the answer must be rejected."""
    if evidence.rule:
        malformed = evidence.rule == MALFORMED
        statement = _WELL_FORMED if malformed else BY_ID[evidence.rule].statement
        return "client-accepts", f"{evidence.about}: {statement}"
    return "client-association", evidence.about


def _check_results(evidence: ClientEvidence) -> Iterator[Finding]:
    """Check the client's results: none may hold a false token.

    An error about a malformed result belongs to that request, and may quote it.
    """
    for report in evidence.reports:
        quotes = report.error and evidence.rule == MALFORMED
        if evidence.false in report.text and not quotes:
            effect, why = _name_fault(evidence)
            way = "an error" if report.error else "the result"
            text = f"the client accepted as {way} of {report.action!r} what it must reject ({why})"
            yield evidence.make_finding(effect, text)


def _check_continuation(evidence: ClientEvidence) -> Iterator[Finding]:
    """Check whether the client went on although its handshake was not answered correctly."""
    if not evidence.opening or evidence.expected != "reject":
        return
    methods = [method for method in evidence.methods if method not in NOT_A_SIGN]
    if methods:
        effect, why = _name_fault(evidence)
        text = f"the client sent {methods[0]} after an answer that it must reject ({why})"
        yield evidence.make_finding(effect, text)


def _check_association(evidence: ClientEvidence) -> Iterator[Finding]:
    """Check whether the client gave the true answer of one action to another."""
    for report in evidence.reports:
        for action, token in evidence.truth.items():
            if action != report.action and token in report.text.split():
                text = f"the client reported the answer to {action!r} as that to {report.action!r}"
                yield evidence.make_finding("client-association", text)


def _check_acceptance(evidence: ClientEvidence) -> Iterator[Finding]:
    """Check whether the client accepted a permitted answer."""
    if evidence.expected != "accept" or evidence.ending != "exited":
        return
    if evidence.handshake:
        deaf = not any(method not in NOT_A_SIGN for method in evidence.methods)
    else:
        good = {
            report.action
            for report in evidence.reports
            if evidence.truth.get(report.action) in report.text.split()
        }
        deaf = bool(evidence.reports) and not set(evidence.truth) <= good
    if deaf:
        text = f"the client did not accept a permitted answer ({evidence.about})"
        yield evidence.make_finding("client-deaf", text)


def _check_ending(evidence: ClientEvidence) -> Iterator[Finding]:
    """Check the client's death, and a client that does not end."""
    target, raw = evidence.target, evidence.offending
    if evidence.ending == "crashed":
        text = f"the client died of {evidence.status} ({evidence.about})"
        name = name_crash(evidence.status, find_last_error(evidence.stderr))
        yield make_finding("liveness", "live-crash", target, name, text, raw)
    elif evidence.ending == "hung":
        text = f"the client did not end though its server had ({evidence.about})"
        yield make_finding("liveness", "live-hang", target, "server-gone", text, raw)
