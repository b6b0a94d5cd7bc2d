"""Explain one case: a table of who accepts it, with what value or which error.

The table shows the judge's verdict beside every parser's outcome, so that a reader sees at once
which one is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from multiprocessing.connection import Connection
from typing import Any

from wirefence.fuzz.examination.examiner import (
    Examiner,
    GatewayTarget,
    agrees_with_judge,
    make_reading,
)
from wirefence.fuzz.processes.child import ChildStarted, prepare_child, send_failures
from wirefence.fuzz.processes.supervisor import Child, Ended
from wirefence.fuzz.text import escape_unprintable
from wirefence.oracles.agreement import Reading, effect_of
from wirefence.oracles.document import judge_document
from wirefence.oracles.liveness import make_death, make_hang
from wirefence.oracles.records import Finding, FrameVerdict
from wirefence.oracles.rules import BY_ID
from wirefence.oracles.session import judge_session
from wirefence.oracles.traits import find_traits, groups_of
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case
from wirefence.targets.parsers.canonical import describe_value
from wirefence.targets.parsers.configs import ParserConfig
from wirefence.targets.records import Outcome, Trace

__all__ = ["MOST", "Explanation", "explain_case", "explain_in_child"]

MOST = 50
"""Frames, and documents, that are shown; more would not be read."""

_MAX_SHOWN = 72
"""Characters of a value or error that are shown on one line of a terminal."""
_MAX_EFFECTS = 20
"""Effects of a gateway that are shown."""
_EMPTY = "The input is empty: it has no frame."


@dataclass(frozen=True, slots=True)
class Explanation:
    """The verdicts and outcomes of one case, as plain data (:attr:`content`) and as text."""

    content: dict[str, object]
    text: str


def explain_case(case: Case, examiner: Examiner, still: Callable[[], object] = bool) -> Explanation:
    """Judge a case, parse each of its lines with every parser, and run it through every gateway.

    All of it is examined; the first :data:`MOST` frames and documents are shown. ``still`` is
    called after each target.
    """
    found: list[Finding] = []
    documents: list[dict[str, object]] = []
    shown = set(_split_documents(case)[:MOST])
    for raw in dict.fromkeys(case.data.split(b"\n")):
        named = _run_parsers(raw, examiner, still)
        found += examiner.examine_document(raw, named) if named else []
        if raw in shown:
            documents.append(_describe_document(raw, named))
    judged = {
        t.profile: judge_session(case.data, t.make_continue_contract(case))
        for t in _list_gateways(examiner)
    }
    gateways = []
    for target in _list_gateways(examiner):
        trace, wrong = examiner.examine_gateway(case, target, judged[target.profile])
        # Gateways read messages of clients only: others are shown and not judged.
        found += wrong if case.direction == "client-to-server" else []
        gateways.append(_describe_gateway(trace))
        still()
    return _build_explanation(case, examiner, documents, gateways, found)


def _run_parsers(
    raw: bytes, examiner: Examiner, still: Callable[[], object]
) -> list[tuple[ParserConfig, Outcome]]:
    """Return every parser's outcome, one parser after another, since each may take long."""
    named = []
    for config in examiner.parsers:
        named += Examiner((config,), ()).run_parsers(raw)
        still()
    return named


def explain_in_child(
    case: Case,
    examiner: Examiner,
    *,
    patience: float,
    tell: Callable[[int], object] = bool,
) -> Explanation:
    """Explain a case in another process, so that a crash or hang of a target becomes a finding.

    Waits at most ``patience`` seconds for each target. ``tell`` is called with the number of
    targets that have finished. Raises what :func:`explain_case` raises.
    """
    child = Child(_explain_and_send, case, examiner, method="fork", patience=patience)
    said: Explanation | Ended | ChildStarted = ChildStarted()
    ends = count()
    while isinstance(said, ChildStarted):
        tell(next(ends))
        said = child.receive()
    if isinstance(said, Explanation):
        return said
    if said.hung:
        return _explain_death(case, make_hang("process", patience))
    return _explain_death(case, make_death("process", said.how))


def _explain_and_send(case: Case, examiner: Examiner, pipe: Connection) -> None:
    prepare_child()
    with send_failures(pipe):
        pipe.send(explain_case(case, examiner, lambda: pipe.send(ChildStarted())))


def _explain_death(case: Case, gone: Finding) -> Explanation:
    """Return the judge's verdicts and a finding for a case that killed or hung its process."""
    documents = [_describe_document(raw, ()) for raw in islice(_split_documents(case), MOST)]
    return _build_explanation(case, Examiner((), ()), documents, [], [gone])


def _build_explanation(
    case: Case,
    examiner: Examiner,
    documents: list[dict[str, object]],
    gateways: list[dict[str, object]],
    found: Sequence[Finding],
) -> Explanation:
    findings = [
        {"oracle": f.oracle, "rule": f.rule, "target": f.target, "summary": f.summary}
        for f in found
    ]
    judged = _judge_case(case, examiner)
    frames = [_describe_frame(case.data, frame) for frame in judged[:MOST]]
    content: dict[str, object] = {
        "version": case.version,
        "bytes": len(case.data),
        "frames": frames,
        "frames_left_out": len(judged) - len(frames),
        "documents": documents,
        "documents_left_out": len(_split_documents(case)) - len(documents),
        "gateways": gateways,
        "findings": findings,
    }
    return Explanation(json.loads(json.dumps(content)), _format_text(content))


def _split_documents(case: Case) -> list[bytes]:
    """Return the lines of a case, each once, without the empty end after the last LF."""
    lines = case.data.split(b"\n")
    return list(dict.fromkeys(lines if lines[-1] else lines[:-1]))


def _shorten_bytes(raw: bytes) -> str:
    text = repr(raw[:_MAX_SHOWN])[2:-1]
    return f"{text} ... ({len(raw):,} bytes)" if len(raw) > _MAX_SHOWN else text


def _judge_case(case: Case, examiner: Examiner) -> Sequence[FrameVerdict]:
    """Return the verdicts under the contract of the first gateway."""
    first = next(iter(_list_gateways(examiner)), None)
    contract = first.make_contract(case) if first else Contract(version=case.version)
    return judge_session(case.data, contract).frames


def _describe_frame(data: bytes, frame: FrameVerdict) -> dict[str, object]:
    rule = BY_ID.get(frame.rule)
    return {
        "frame": _shorten_bytes(data[frame.start : frame.end]),
        "verdict": frame.rule or "accepted",
        "layer": frame.layer,
        "statement": rule.statement if rule else "",
        "source": rule.source if rule else "",
        "calls": [call.tool for call in frame.calls],
    }


def _describe_document(
    raw: bytes, named: Sequence[tuple[ParserConfig, Outcome]]
) -> dict[str, object]:
    strict, spec = judge_document(raw), judge_document(raw, profile="spec")
    expected = {True: make_reading(strict), False: make_reading(spec)}
    traits = find_traits(raw)
    rows = []
    for config, outcome in named:
        expect = expected[config.strict]
        rows.append(
            {
                "parser": config.name,
                "outcome": outcome.kind,
                "value": describe_value(outcome.value) if outcome.kind == "accept" else "",
                "error": outcome.error,
                "differs": _describe_difference(config, outcome, expect),
            }
        )
    return {
        "document": _shorten_bytes(raw),
        "strict": strict.rule or "accepted",
        "spec": spec.rule or "accepted",
        "traits": sorted(traits),
        "groups": sorted(groups_of(traits)),
        "parsers": rows,
    }


def _describe_difference(config: ParserConfig, outcome: Outcome, expect: Reading) -> str:
    same = agrees_with_judge(outcome, expect, typed=config.typed)
    return "" if same else effect_of(outcome, expect)


def _list_gateways(examiner: Examiner) -> Iterator[GatewayTarget]:
    return chain.from_iterable(examiner.gateways)


def _describe_gateway(trace: Trace) -> dict[str, object]:
    return {
        "gateway": trace.target,
        "ending": trace.ending,
        "effects": [f"{effect.tool}({effect.action})" for effect in trace.effects],
        "replies": trace.stdout.count(b"\n"),
    }


def _format_text(content: dict[str, Any]) -> str:
    findings = content["findings"]
    lines = [
        f"{len(findings)} findings"
        if findings
        else "No findings; known quirks of a parser are marked <-."
    ]
    lines += [f"  {f['oracle']} {f['rule']} in {f['target']}: {f['summary']}" for f in findings]
    lines += ["", "The judge on the session:" if content["frames"] else _EMPTY]
    for number, frame in enumerate(content["frames"], 1):
        lines.append(f"  {number:>3}  {frame['verdict']:<26}  {frame['frame']}")
        if frame["statement"]:
            lines.append(f"       {frame['statement']} [{frame['source']}]")
    lines += _format_left_out(content["frames_left_out"], "frames")
    for document in content["documents"]:
        lines += ["", f"Document  {document['document']}"]
        lines.append(f"  judge: strict {document['strict']}, spec {document['spec']}")
        lines += map(_format_parser_row, document["parsers"])
    lines += _format_left_out(content["documents_left_out"], "documents")
    lines += ["", "Gateways:"] if content["gateways"] else []
    width = max((len(g["gateway"]) for g in content["gateways"]), default=0)
    lines += [
        f"  {g['gateway']:<{width}}  {g['ending']:<8} {g['replies']} replies, effects: "
        f"{_format_effects(g['effects'])}"
        for g in content["gateways"]
    ]
    return "\n".join(escape_unprintable(line) for line in lines)


def _format_left_out(count: int, what: str) -> list[str]:
    return ["", f"{count:,} more {what} were examined and are not shown."] if count else []


def _format_effects(effects: list[str]) -> str:
    more = [f"and {len(effects) - _MAX_EFFECTS:,} more"] if len(effects) > _MAX_EFFECTS else []
    return ", ".join([*effects[:_MAX_EFFECTS], *more]) or "none"


def _format_parser_row(row: dict[str, str]) -> str:
    said = (row["value"] or row["error"])[:_MAX_SHOWN]
    mark = f"   <- {row['differs']}" if row["differs"] else ""
    return f"  {row['parser']:<28} {row['outcome']:<7} {said}{mark}"
