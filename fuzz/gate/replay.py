"""Run one case in one fresh process, for replay and minimization.

The bytes and the stored options decide completely how the case runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from wirefence.fuzz.gate.client.run import examine_client
from wirefence.fuzz.gate.records import Facts, Options, Trial
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.discovery import discover_server
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    prepare_trial,
    rename_trial,
)
from wirefence.fuzz.gate.server.smoke import check_end_of_stdin
from wirefence.fuzz.gate.server.startup import startup_findings
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.fuzz.gate.trials.startup_variants import find_variant
from wirefence.fuzz.store.redaction import Redactor, redact_finding
from wirefence.oracles.records import Finding
from wirefence.oracles.smoke import check_tools
from wirefence.strategies.records import Case
from wirefence.targets.command.records import Launch

__all__ = ["discover_name", "examine_command"]


_numbers = count(1)
_known: dict[tuple[str, Options], Facts] = {}
"""Discovered facts by command and options: one process may examine many cases."""


def examine_command(
    case: Case,
    launch: Launch,
    settings: Mapping[str, str] | None = None,
    *,
    target: str = "",
) -> list[Finding]:
    """Return every finding that one case shows in one fresh process of ``launch``.

    Names that the gate gave to calls are replaced by new ones in the bytes, as a call may work only
    once for a name. ``settings`` are those of :meth:`Options.as_settings`, ``target`` is the label
    in signatures. The first call discovers the server. A good session is also ended at once, to
    check that no reply is lost and that the process exits. Raises TargetError for a launch that
    fails, UsageError for options that do not fit the server.
    """
    hide = Redactor.for_launch(launch)
    found = _examine_case(case, launch, settings or {}, target)
    return [redact_finding(each, hide) for each in found]


def discover_name(launch: Launch) -> str:
    """Return the name of a server in signatures. Raises TargetError if it cannot start."""
    servers = FreshServers(launch, Options(policy="continue"))  # no need to probe the policy
    try:
        return discover_server(servers).label
    finally:
        servers.close()


def _examine_case(
    case: Case, launch: Launch, settings: Mapping[str, str], target: str
) -> list[Finding]:
    if "attack" in settings:
        return examine_client(launch, settings, target)
    options = Options.from_settings(settings, label=target)
    servers = FreshServers(launch, options)
    key = repr(launch), options
    try:
        if key not in _known:
            _known[key] = discover_server(servers)
        known = _known[key]
        variant = find_variant(settings.get("cause", ""))
        if variant is not None:  # a fault at startup: repeat the start
            return [each.finding for each in startup_findings(launch, known, options, [variant])]
        eof = not case.data.endswith(b"\n")
        trial = Trial("replay", "replay", "after", case, eof=eof)
        contract = known.make_contract(options.profile, case.version)
        prepared = rename_trial(prepare_trial(trial, contract), next(_numbers))
        return _judge_case(servers, known, prepared)
    finally:
        servers.close()


def _judge_case(servers: FreshServers, facts: Facts, prepared: PreparedTrial) -> list[Finding]:
    """Run and judge the case; a case without bad frames also gets the smoke checks."""
    seen = servers.run_trial(prepared, facts, grace=0.3)
    control = Controls(servers, facts, lambda: next(_numbers)).get_control(prepared)
    findings = judge_trial(prepared, seen, facts, control)
    if all(frame.accepted for frame in prepared.judgement.frames):
        ended = replace(prepared, trial=replace(prepared.trial, eof=True))
        findings += check_end_of_stdin(servers, facts, ended)[1]
        findings += check_tools(facts.label, facts.tools, servers.options.expected_tools)
    return findings
