"""Smoke: what any client relies on before anything hostile is sent.

The key insight: the end of stdin is a request like any other. A server that loses what was already
in the pipe, or that has to be killed, fails clients that do nothing wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from wirefence.fuzz.gate.records import Facts, Seen, Trial
from wirefence.fuzz.gate.server.fresh import Lab, Ready, Replies, ready
from wirefence.fuzz.gate.server.verdicts import Charge
from wirefence.fuzz.gate.trials.generate import Maker
from wirefence.fuzz.gate.trials.messages import Names, listing, ping
from wirefence.oracles.records import finding
from wirefence.strategies.records import Case, Frame

__all__ = ["at_the_end", "crowd", "missing_tools"]

_CROWD = 24


def crowd(maker: Maker, number: int) -> Trial:
    """A good session with many requests at once: what a busy client has in the pipe."""
    names = Names(number)
    good = maker.good(number)
    frames = list(good.case.frames[:-1])
    for at in range(_CROWD):
        ident = f'"{names.action("q")}{chr(97 + at)}i"'.encode()
        make = listing if at % 3 == 0 else ping
        frames.append(Frame(make(maker.version, ident).raw))
    return replace(
        good,
        name="crowd",
        family="smoke",
        place="end",
        case=Case(tuple(frames), version=maker.version),
    )


def missing_tools(facts: Facts, expected: tuple[str, ...]) -> Iterator[Charge]:
    """A finding for each expected tool that the server does not list."""
    for name in expected:
        if name not in facts.tools:
            has = ", ".join(facts.tools) or "none"
            text = f"there is no tool {name!r} in tools/list, which has {has}"
            yield Charge(finding("smoke", "smoke-tool", facts.label, name, text))


def at_the_end(lab: Lab, facts: Facts, prepared: Ready) -> tuple[Seen, list[Charge]]:
    """Send a good session and end stdin at once: every reply must come, then the process must go.

    The handshake alone is waited for, as clients do.
    """
    watched = lab.fresh()
    began = time.monotonic()
    session, process = watched.session, watched.session.process
    try:
        replies = Replies(session, prepared.trial.case.version)
        lab.send(session, prepared, replies)
        process.end_input()
        replies.wait(prepared.owed, lab.options.patience)
        gone = process.wait(lab.options.patience)
        status = session.stop()
        missing = prepared.owed - replies.look()
        seen = Seen(
            tuple(session.lines),
            session.tail,
            complete=not missing,
            stderr=bytes(process.stderr.data),
            stdin=bytes(process.sent),
            seconds=time.monotonic() - began,
            times=process.times(),
        )
    finally:
        watched.stop()
    charges = []
    if missing:
        text = f"{len(missing)} of {len(prepared.owed)} replies were lost at the end of stdin"
        charges.append(_say(facts, "smoke-lost", "", text))
    if not gone:
        text = f"still running {lab.options.patience:g} s after its stdin ended"
        charges.append(_say(facts, "smoke-exit", "stays", text))
    elif status.code != 0:
        charges.append(_say(facts, "smoke-exit", str(status), f"{status} after its stdin ended"))
    return seen, charges


def _say(facts: Facts, rule: str, kind: str, text: str) -> Charge:
    return Charge(finding("smoke", rule, facts.label, kind, text))


def prepared_crowd(maker: Maker, lab: Lab, facts: Facts, number: int) -> Ready:
    """The crowd, judged."""
    return ready(crowd(maker, number), facts.contract(lab.options.profile))
