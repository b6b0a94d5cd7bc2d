"""Judge what a client did with bad answers: does it fail closed?

A client may end, raise, wait or go on; all of these are safe. Unsafe are: a false token in its
results, a true token under another action, and a session that goes on although no permitted answer
opened it. Only the last needs no report from the client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from wirefence.fuzz.gate.client.records import PlayedAttack
from wirefence.fuzz.gate.report.finding_details import explain_rule
from wirefence.fuzz.gate.server.verdicts import Charge
from wirefence.fuzz.gate.trials.messages import STATELESS
from wirefence.oracles.records import make_finding
from wirefence.strategies.contract import Profile

__all__ = ["NOT_A_SIGN", "judge_client"]

NOT_A_SIGN = frozenset({"initialize", "server/discover", "ping", "notifications/cancelled"})
"""Methods that a client may send without having been answered."""


def judge_client(played: PlayedAttack, label: str, profile: Profile = "strict") -> list[Charge]:
    """Return a charge for every rule that a client broke, each signature once."""
    if not played.exercised:
        return []
    attack = played.attack
    charges: dict[str, Charge] = {}
    if not (attack.strict and profile == "spec"):
        for charge in (
            *_judge_results(played, label),
            *_judge_continuation(played, label),
            *_judge_association(played, label),
        ):
            charges.setdefault(charge.finding.signature, charge)
    for charge in (*_judge_acceptance(played, label), *_judge_liveness(played, label)):
        charges.setdefault(charge.finding.signature, charge)
    return list(charges.values())


def _make_charge(
    played: PlayedAttack, label: str, rule: str, text: str, oracle: str = "client"
) -> Charge:
    """Return a charge about one attack; the same attack at both places is the same fault."""
    made = make_finding(oracle, rule, label, played.attack.name, text)
    return Charge(made, played.offending)


def _name_fault(played: PlayedAttack) -> tuple[str, str]:
    """Return the oracle's rule, and why the answer must be rejected."""
    attack = played.attack
    if attack.rule:
        return "client-accepts", f"{attack.about}: {explain_rule(attack.rule)[0]}"
    return "client-association", attack.about


def _judge_results(played: PlayedAttack, label: str) -> Iterator[Charge]:
    """Judge the client's results: none may hold a false token."""
    for report in played.reports:
        if played.false in report.text:
            rule, why = _name_fault(played)
            way = "an error" if report.error else "the result"
            text = f"the client accepted as {way} of {report.action!r} what it must reject ({why})"
            yield _make_charge(played, label, rule, text)


def _judge_continuation(played: PlayedAttack, label: str) -> Iterator[Charge]:
    """Judge whether the client went on although its handshake was not answered correctly."""
    if played.place != "handshake" or played.attack.expected != "reject":
        return
    if played.version == STATELESS:  # requests are independent and need no discovery first
        return
    methods = [method for method in _list_methods(played.after) if method not in NOT_A_SIGN]
    if methods:
        rule, why = _name_fault(played)
        text = f"the client sent {methods[0]} after an answer that it must reject ({why})"
        yield _make_charge(played, label, rule, text)


def _list_methods(received: bytes) -> Iterator[str]:
    for line in received.split(b"\n"):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            yield message["method"]


def _judge_association(played: PlayedAttack, label: str) -> Iterator[Charge]:
    """Judge whether the client gave the true answer of one action to another."""
    for report in played.reports:
        for action, token in played.truth.items():
            if action != report.action and token in report.text.split():
                text = f"the client reported the answer to {action!r} as that to {report.action!r}"
                yield _make_charge(played, label, "client-association", text)


def _judge_acceptance(played: PlayedAttack, label: str) -> Iterator[Charge]:
    """Judge whether the client accepted a permitted answer."""
    if played.attack.expected != "accept" or played.ending != "exited":
        return
    if played.place == "handshake":
        deaf = not any(method not in NOT_A_SIGN for method in _list_methods(played.after))
    else:
        good = {
            report.action
            for report in played.reports
            if played.truth.get(report.action) in report.text.split()
        }
        deaf = bool(played.reports) and not set(played.truth) <= good
    if deaf:
        text = f"the client did not accept a permitted answer ({played.attack.about})"
        yield _make_charge(played, label, "client-deaf", text)


def _judge_liveness(played: PlayedAttack, label: str) -> Iterator[Charge]:
    """Judge the client's death, and a client that does not end."""
    if played.ending == "crashed":
        text = f"the client died of {played.status} ({played.attack.about})"
        yield _make_charge(played, label, "live-crash", text, "liveness")
    elif played.ending == "hung":
        text = f"the client did not end though its server had ({played.attack.about})"
        made = make_finding("liveness", "live-hang", label, "server-gone", text)
        yield Charge(made, played.offending)
