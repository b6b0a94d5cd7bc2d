"""What a client did with bad answers, judged: does it fail closed?

The key insight: a client may end, raise, wait or go on; all of that is safe. What is not safe is a
false token in what it tells, a true one under another action, or a session that it believes to be
open though no permitted answer ever opened it. Only the last needs no word from the client itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from wirefence.fuzz.gate.client.records import PlayedAttack
from wirefence.fuzz.gate.report.finding_details import explain_rule
from wirefence.fuzz.gate.server.verdicts import Charge
from wirefence.fuzz.gate.trials.messages import STATELESS
from wirefence.oracles.records import finding
from wirefence.strategies.contract import Profile

__all__ = ["NOT_A_SIGN", "judge_client"]

NOT_A_SIGN = frozenset({"initialize", "server/discover", "ping", "notifications/cancelled"})
"""Methods that a client may send without having been answered."""


def judge_client(played: PlayedAttack, label: str, profile: Profile = "strict") -> list[Charge]:
    """Every rule that a client broke, each signature once."""
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
    """A finding about one attack; the same attack at both places is the same fault."""
    made = finding(oracle, rule, label, played.attack.name, text)
    return Charge(made, played.offending)


def _name_fault(played: PlayedAttack) -> tuple[str, str]:
    """The oracle's rule, and why the answer had to be rejected."""
    attack = played.attack
    if attack.rule:
        return "client-accepts", f"{attack.about}: {explain_rule(attack.rule)[0]}"
    return "client-association", attack.about


def _judge_results(played: PlayedAttack, label: str) -> Iterator[Charge]:
    for told in played.told:
        if played.false in told.text:
            rule, why = _name_fault(played)
            way = "an error" if told.error else "the result"
            text = f"the client took as {way} of {told.action!r} what it had to reject ({why})"
            yield _make_charge(played, label, rule, text)


def _judge_continuation(played: PlayedAttack, label: str) -> Iterator[Charge]:
    """The handshake was never answered as it had to be, and yet the client went on."""
    if played.place != "handshake" or played.attack.expected != "reject":
        return
    if played.version == STATELESS:  # each request stands alone, and needs no discovery first
        return
    methods = [method for method in _list_methods(played.after) if method not in NOT_A_SIGN]
    if methods:
        rule, why = _name_fault(played)
        text = f"the client sent {methods[0]} after an answer that it had to reject ({why})"
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
    """The true answer of one action, told of another."""
    for told in played.told:
        for action, token in played.truth.items():
            if action != told.action and token in told.text.split():
                text = f"the client took the answer to {action!r} for that to {told.action!r}"
                yield _make_charge(played, label, "client-association", text)


def _judge_acceptance(played: PlayedAttack, label: str) -> Iterator[Charge]:
    """A permitted answer was not taken."""
    if played.attack.expected != "accept" or played.ending != "exited":
        return
    if played.place == "handshake":
        deaf = not any(method not in NOT_A_SIGN for method in _list_methods(played.after))
    else:
        good = {
            told.action
            for told in played.told
            if played.truth.get(told.action) in told.text.split()
        }
        deaf = bool(played.told) and not set(played.truth) <= good
    if deaf:
        text = f"the client did not take a permitted answer ({played.attack.about})"
        yield _make_charge(played, label, "client-deaf", text)


def _judge_liveness(played: PlayedAttack, label: str) -> Iterator[Charge]:
    if played.ending == "crashed":
        text = f"the client died of {played.status} ({played.attack.about})"
        yield _make_charge(played, label, "live-crash", text, "liveness")
    elif played.ending == "hung":
        text = f"the client did not end though its server had ({played.attack.about})"
        made = finding("liveness", "live-hang", label, "server-gone", text)
        yield Charge(made, played.offending)
