"""What one server does with the classic inputs, in as few processes as tell it.

The gate's own stages are used one by one: what a server tells about itself, one
living server for all that can share it, a fresh one for what ends or opens a session. A start is
what costs, so everything that is asked about a server is asked in one go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from wirefence.fuzz.gate.records import Facts, Observation, Options, Trial
from wirefence.fuzz.gate.server.discovery import discover_server
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import has_acted, is_usable, judge_trial
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.messages import ToolWording
from wirefence.targets.command.records import Launch

__all__ = ["COLD", "WARM", "Probed", "probe"]

WARM = (
    "ugly-debug-line", "ugly-banner-glued", "ugly-two-objects", "ugly-malformed-params",
    "danger-nan", "danger-hybrid", "danger-id-true", "danger-id-fraction", "danger-id-null",
    "danger-params-string", "danger-arguments-string", "danger-method-case",
    "nested-cr", "encoding-byte-ff", "duplicate-method-before", "good",
)  # fmt: skip
"""Trials after the handshake, for a server that lives on."""
COLD = ("ugly-truncated-eof", "truncate-newline-eof", "call-before-initialize")
"""Trials that need a session of their own."""
_RACE = "truncate-newline-eof"
"""Whether a call at the end of stdin acts may hang on who is faster."""
_TRIES = 2
_PLACES = {"ugly-truncated-eof": "after", "truncate-newline-eof": "end"}


@dataclass(frozen=True, slots=True)
class Probed:
    """What a server told about itself, and for each trial what it broke (signatures without label).

    ``acted`` and ``unusable`` name the trials with these verdicts; ``seen`` is the raw evidence.
    """

    facts: Facts
    shown: Mapping[str, frozenset[str]]
    acted: frozenset[str]
    unusable: frozenset[str]
    seen: Mapping[str, Observation]


def probe(launch: Launch, options: Options, cold: Sequence[str] = COLD) -> Probed:
    """Ask a server everything; ``cold`` names the trials of :data:`COLD` that are wanted.

    Raises what the gate raises for a server that can't be talked to.
    """
    lab = FreshServers(launch, options)
    warm: PipelinedServer | None = None
    try:
        facts = discover_server(lab)
        trials = _trials(facts)
        warm = PipelinedServer(lab, facts)
        results = list(warm.screen_trials([trials[name] for name in WARM], lambda: False))
        results += [_fresh(lab, facts, trials[name]) for name in cold]
        return _judged(facts, results)
    finally:
        if warm is not None:
            warm.close()
        lab.close()


def _fresh(
    lab: FreshServers, facts: Facts, prepared: PreparedTrial
) -> tuple[PreparedTrial, Observation]:
    """A trial in a fresh process; where a race decides, until it acts."""
    for _ in range(_TRIES if prepared.trial.name == _RACE else 1):
        seen = lab.run_trial(prepared, facts, grace=0.3)
        if has_acted(judge_trial(prepared, seen, facts)):
            break
    return prepared, seen


def _trials(facts: Facts) -> dict[str, PreparedTrial]:
    """The trials by name, each under the profile that says something about it."""
    maker = TrialMaker(facts, ToolWording.of(facts.nominee), facts.version)
    numbers = count(1)
    every = [maker.make_good_session(next(numbers))]
    for make in (
        maker.make_ugly,
        maker.make_dangerous,
        maker.make_rejected_handshakes,
        maker.make_damaged,
    ):
        every += make(numbers)
    found = {trial.name: trial for trial in every if _wanted(trial)}
    return {name: prepare_trial(trial, _contract(facts, name)) for name, trial in found.items()}


def _wanted(trial: Trial) -> bool:
    return trial.name in WARM + COLD and trial.place == _PLACES.get(trial.name, "after")


def _contract(facts: Facts, name: str):
    return facts.make_contract("strict" if name.startswith("duplicate") else "spec")


def _judged(facts: Facts, results: list[tuple[PreparedTrial, Observation]]) -> Probed:
    seen = {prepared.trial.name: each for prepared, each in results}
    findings = {
        prepared.trial.name: judge_trial(prepared, each, facts) for prepared, each in results
    }
    return Probed(
        facts,
        {
            name: frozenset(finding.signature.partition("|")[2] for finding in said)
            for name, said in findings.items()
        },
        frozenset(name for name, said in findings.items() if has_acted(said)),
        frozenset(name for name, said in findings.items() if not is_usable(said)),
        seen,
    )
