"""Examine one case: run it through parsers and gateways, and judge the results with the oracles.

Examination is a function of the case alone. Campaign, replay, explain and tests all call it, so
they all find the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from wirefence.fuzz.examination.events import Tally
from wirefence.fuzz.examination.turns import Turns
from wirefence.oracles.agreement import ANY_VALUE, Reading, check_agreement
from wirefence.oracles.document import judge_document
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.records import Finding, FrameVerdict, Judgement, ReplyVerdict, Verdict
from wirefence.oracles.session import close_judgement, judge_session
from wirefence.oracles.session_findings import judge_evidence
from wirefence.oracles.state import control_of
from wirefence.oracles.trace_evidence import read_trace
from wirefence.oracles.traits import find_traits
from wirefence.oracles.transcript import lines_of
from wirefence.oracles.transcript_judge import judge_reply
from wirefence.strategies.contract import Contract, Policy, Profile
from wirefence.strategies.records import Case
from wirefence.targets.harness import run_case
from wirefence.targets.parsers.canonical import encode_value
from wirefence.targets.parsers.configs import ParserConfig
from wirefence.targets.parsers.outcomes import is_dangerous, outcomes_of
from wirefence.targets.parsers.worker import isolated_outcomes
from wirefence.targets.records import GatewayFactory, Outcome, Trace

__all__ = ["Examiner", "GatewayTarget"]

_MAX_REMEMBERED = 8_192
"""Lines. A repeated line mostly repeats within some hundred cases; most lines hold a nonce and
never repeat.
"""
_MAX_REMEMBERED_SIZE = 512
"""Bytes of a line; longer lines do not repeat."""


@dataclass(frozen=True, slots=True)
class GatewayTarget:
    """A gateway under one policy. ``name`` is ``family/variant/policy``."""

    name: str
    factory: GatewayFactory
    policy: Policy = "close"
    profile: Profile = "strict"

    def make_contract(self, case: Case) -> Contract:
        """Return the contract under which this target runs a case."""
        return Contract(version=case.version, profile=self.profile, policy=self.policy)

    def make_continue_contract(self, case: Case) -> Contract:
        """Return the same contract with policy ``continue``, under which all frames are judged."""
        return replace(self.make_contract(case), policy="continue")


@dataclass(slots=True)
class Examiner:
    """Runs cases through parsers and gateways, and counts in ``tally`` what was exercised.

    Each case runs through every parser, and through those ``gateways`` whose turn it is
    (:class:`~fuzz.examination.turns.Turns`).
    """

    parsers: Sequence[ParserConfig]
    gateways: Sequence[Sequence[GatewayTarget]]
    quirks: Mapping[str, Set[str]] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    _seen: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    _turns: Turns[GatewayTarget] = field(init=False)

    def __post_init__(self) -> None:
        self._turns = Turns(self.gateways)

    def examine_case(self, case: Case, index: int | None = None) -> list[Finding]:
        """Return all findings of a case.

        With ``index``, only the gateways of that turn run; without, all of them.
        """
        self.tally.cases += 1
        for name in case.damages():
            self.tally.operators[name] = self.tally.operators.get(name, 0) + 1
        found = self._examine_documents(case) if self.parsers else []
        if case.direction == "server-to-client":
            # Gateways read messages of clients only; clients' parsers read those of servers.
            self._count_rules(judge_reply(line, case.version) for line in lines_of(case.data))
            return found
        judged: dict[Profile, Judgement] = {}
        for gateway in self._turns.select(index):
            if gateway.profile not in judged:
                judged[gateway.profile] = judge_session(
                    case.data, gateway.make_continue_contract(case)
                )
            found += self.examine_gateway(case, gateway, judged[gateway.profile])[1]
        return found

    def _examine_documents(self, case: Case) -> list[Finding]:
        found = []
        for raw in case.data.split(b"\n"):
            # Handshakes repeat in nearly every case, and agree again if they agreed once.
            if raw in self._seen:
                self._seen.move_to_end(raw)
                continue
            new = self.examine_document(raw)
            if not new and len(raw) < _MAX_REMEMBERED_SIZE:
                self._remember_document(raw)
            found += new
        return found

    def _remember_document(self, raw: bytes) -> None:
        self._seen[raw] = None
        if len(self._seen) > _MAX_REMEMBERED:
            self._seen.popitem(last=False)

    def examine_document(
        self, raw: bytes, named: Sequence[tuple[ParserConfig, Outcome]] = ()
    ) -> list[Finding]:
        """Return the disagreements of all parsers on one document.

        ``named`` is the result of :meth:`run_parsers`, if known already.
        """
        strict = judge_document(raw)
        spec = strict if strict.accepted else judge_document(raw, profile="spec")
        named = named or self.run_parsers(raw)
        self.tally.documents += 1
        self.tally.comparisons += len(named)
        wanted = make_reading(strict)
        expected = {True: wanted, False: wanted if spec is strict else make_reading(spec)}
        odd = [
            (c, seen)
            for c, seen in named
            if not agrees_with_judge(seen, expected[c.strict], typed=c.typed)
        ]
        if not odd:
            return []
        traits = find_traits(raw)
        found = []
        for kind, expect in expected.items():
            group = [(config.name, outcome) for config, outcome in odd if config.strict is kind]
            found += check_agreement(group, expect, traits, self.quirks)
        return found

    def run_parsers(self, raw: bytes) -> list[tuple[ParserConfig, Outcome]]:
        """Return every parser's outcome. Inputs that can kill a process run in another process."""
        if not is_dangerous(raw):
            return list(zip(self.parsers, outcomes_of(self.parsers, raw), strict=True))
        strict = [config for config in self.parsers if config.strict]
        others = [config for config in self.parsers if not config.strict]
        apart = isolated_outcomes(others, [raw])[0]
        return [
            *zip(others, apart, strict=True),
            *zip(strict, outcomes_of(strict, raw), strict=True),
        ]

    def examine_gateway(
        self, case: Case, target: GatewayTarget, judgement: Judgement
    ) -> tuple[Trace, list[Finding]]:
        """Run a case through one gateway; ``judgement`` is that of policy ``continue``."""
        contract = target.make_contract(case)
        if target.policy == "close":
            judgement = close_judgement(judgement)
        trace = run_case(target.name, target.factory, case, contract)
        self._count_gateway(target, judgement, len(trace.effects))
        evidence = read_trace(
            case, judgement, trace, contract, self._run_control(case, target, judgement, contract)
        )
        return trace, judge_evidence(evidence)

    @staticmethod
    def _run_control(
        case: Case, target: GatewayTarget, judgement: Judgement, contract: Contract
    ) -> Evidence | None:
        """Run the same session without its rejected frames; ``None`` where that shows nothing."""
        control = control_of(case, judgement) if target.policy == "continue" else None
        if control is None:
            return None
        trace = run_case(target.name, target.factory, control, contract)
        return read_trace(control, judge_session(control.data, contract), trace, contract)

    def _count_gateway(self, target: GatewayTarget, judgement: Judgement, effects: int) -> None:
        tally = self.tally
        tally.targets[target.name] = tally.targets.get(target.name, 0) + 1
        tally.frames += len(judgement.frames)
        tally.effects += effects
        self._count_rules(judgement.frames)

    def _count_rules(self, verdicts: Iterable[FrameVerdict | ReplyVerdict]) -> None:
        rules = self.tally.rules
        for verdict in verdicts:
            rule = verdict.rule or "accepted"
            rules[rule] = rules.get(rule, 0) + 1


def make_reading(verdict: Verdict) -> Reading:
    """Return the judge's verdict in the form with which outcomes are compared."""
    if verdict.rule:
        return Reading(verdict.rule, b"")
    try:
        value = encode_value(verdict.value)
    except TypeError:  # the judge gives no value for it
        value = ANY_VALUE
    return Reading("", value)


def agrees_with_judge(outcome: Outcome, expect: Reading, *, typed: bool = False) -> bool:
    """Return whether an outcome is the judge's reading.

    A ``typed`` parser may reject, or ignore members that its type does not name.
    """
    if outcome.kind == "accept":
        return not expect.rule and (typed or expect.value in (outcome.value, ANY_VALUE))
    return outcome.kind == "reject" and (typed or bool(expect.rule))
