"""Smoke checks: what every client relies on, tested before any bad frame is sent.

A server that loses replies when stdin ends, or that must be killed, fails well-behaved clients.
"""

from __future__ import annotations

import time
from dataclasses import replace

from wirefence.fuzz.gate.records import Facts, Observation, Trial
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    ReplyTracker,
    prepare_trial,
)
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import TrialNames, make_ping, make_tools_list
from wirefence.oracles.records import Finding
from wirefence.oracles.smoke import check_end
from wirefence.strategies.records import Case, Frame

__all__ = ["check_end_of_stdin", "make_crowd", "prepare_crowd"]

_CROWD_SIZE = 24
"""Requests at once, as a client with many open questions sends them."""


def make_crowd(maker: TrialMaker, number: int) -> Trial:
    """Return a good session with many requests at once, as a busy client sends them."""
    names = TrialNames(number)
    good = maker.make_good_session(number)
    frames = list(good.case.frames[:-1])
    for at in range(_CROWD_SIZE):
        ident = f'"{names.action_name("q")}{chr(97 + at)}i"'.encode()
        make = make_tools_list if at % 3 == 0 else make_ping
        frames.append(Frame(make(maker.version, ident).raw))
    return replace(
        good,
        name="crowd",
        family="smoke",
        place="end",
        case=Case(tuple(frames), version=maker.version),
    )


def check_end_of_stdin(
    servers: FreshServers, facts: Facts, prepared: PreparedTrial
) -> tuple[Observation, list[Finding]]:
    """Send a good session and end stdin at once: every reply must come, then the process must exit.

    Only the handshake is waited for, as clients do.
    """
    watched = servers.take_server()
    began = time.monotonic()
    session, process = watched.session, watched.session.process
    try:
        replies = ReplyTracker(session, prepared.trial.case.version)
        servers.send_trial(session, prepared, replies)
        process.end_input()
        replies.wait_for(prepared.owed, servers.options.patience)
        gone = process.wait(servers.options.patience)
        status = session.stop()
        missing = prepared.owed - replies.read_replies()
        seen = Observation(
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
    findings = check_end(
        facts.label,
        missing=len(missing),
        owed=len(prepared.owed),
        exited=gone,
        status="" if status.code == 0 else str(status),
        seconds=servers.options.patience,
    )
    return seen, list(findings)


def prepare_crowd(
    maker: TrialMaker, servers: FreshServers, facts: Facts, number: int
) -> PreparedTrial:
    """Return the crowd, judged."""
    return prepare_trial(make_crowd(maker, number), facts.make_contract(servers.options.profile))
