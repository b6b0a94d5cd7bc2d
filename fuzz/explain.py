"""One case, through everything, as a table: who accepts, what value, which error.

The key insight: a reader who sees the judge's verdict beside thirty parsers' outcomes knows at once
who is at fault, without believing anybody.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from fuzz.apart import Failed, end_of, settle, starting, telling
from fuzz.examine import Examiner, agrees, reading
from fuzz.report import printable
from oracles.agreement import Reading, effect_of
from oracles.document import judge_document
from oracles.features import features
from oracles.records import Finding, FrameVerdict, finding
from oracles.rules import BY_ID
from oracles.session import judge_session
from strategies.contract import Contract
from strategies.records import Case
from targets.harness import run
from targets.parsers.canonical import describe
from targets.parsers.configs import ParserConfig
from targets.records import Outcome

__all__ = ["Explanation", "explain", "explain_apart"]

_SHOWN = 72


@dataclass(frozen=True, slots=True)
class Explanation:
    """What everything says of one case, as plain data (:attr:`content`) and as text."""

    content: dict[str, object]
    text: str


def explain(case: Case, examiner: Examiner) -> Explanation:
    """Judge a case, parse each of its frames with every parser, run it through every gateway."""
    gateways = [_gateway(case, examiner, name) for name in _gateway_names(examiner)]
    return _explanation(case, examiner, gateways, examiner.examine(case))


def explain_apart(case: Case, examiner: Examiner, *, patience: float) -> Explanation:
    """Explain a case in another process: a target that takes it down or hangs is a finding.

    Waits at most ``patience`` seconds. Raises what :func:`explain` raises.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(case, examiner, theirs), daemon=True)
    with starting():
        process.start()
    theirs.close()
    try:
        if not ours.poll(patience):
            process.kill()
            return _ended(case, "live-hang", f"no end of the case within {patience:g} s")
        said: Explanation | Failed = ours.recv()
    except (EOFError, OSError):
        return _ended(case, "live-crash", f"the process died ({end_of(process)})")
    if isinstance(said, Failed):
        raise said.raised()
    return said


def _tell(case: Case, examiner: Examiner, pipe: Connection) -> None:
    settle()
    with telling(pipe):
        pipe.send(explain(case, examiner))


def _ended(case: Case, rule: str, summary: str) -> Explanation:
    """What can be said of a case whose targets are gone: the judge's word and how they went."""
    return _explanation(
        case, Examiner((), ()), [], [finding("liveness", rule, "process", "", summary)]
    )


def _explanation(
    case: Case,
    examiner: Examiner,
    gateways: list[dict[str, object]],
    found: Sequence[Finding],
) -> Explanation:
    documents = [_document(raw, examiner) for raw in _documents(case)]
    findings = [
        {"oracle": f.oracle, "rule": f.rule, "target": f.target, "summary": f.summary}
        for f in found
    ]
    frames = _frames(case, examiner)
    content: dict[str, object] = {
        "version": case.version,
        "bytes": len(case.data),
        "frames": frames,
        "documents": documents,
        "gateways": gateways,
        "findings": findings,
    }
    text = _text(frames, documents, gateways, findings)
    return Explanation(json.loads(json.dumps(content)), text)


def _documents(case: Case) -> list[bytes]:
    lines = case.data.split(b"\n")
    return list(dict.fromkeys(lines if lines[-1] else lines[:-1]))


def _show(raw: bytes) -> str:
    text = repr(raw[:_SHOWN])[2:-1]
    return f"{text} ... ({len(raw):,} bytes)" if len(raw) > _SHOWN else text


def _frames(case: Case, examiner: Examiner) -> list[dict[str, object]]:
    targets = [target for group in examiner.gateways for target in group]
    contract = targets[0].contract(case) if targets else Contract(version=case.version)
    data = case.data
    return [_frame(data, f) for f in judge_session(data, contract).frames]


def _frame(data: bytes, frame: FrameVerdict) -> dict[str, object]:
    rule = BY_ID.get(frame.rule)
    return {
        "frame": _show(data[frame.start : frame.end]),
        "verdict": frame.rule or "accepted",
        "layer": frame.layer,
        "statement": rule.statement if rule else "",
        "source": rule.source if rule else "",
        "calls": [call.tool for call in frame.calls],
    }


def _document(raw: bytes, examiner: Examiner) -> dict[str, object]:
    strict, spec = judge_document(raw), judge_document(raw, profile="spec")
    rows = []
    for config, outcome in examiner.outcomes(raw):
        expect = reading(strict if config.strict else spec)
        rows.append(
            {
                "parser": config.name,
                "outcome": outcome.kind,
                "value": describe(outcome.value) if outcome.kind == "accept" else "",
                "error": outcome.error,
                "differs": _difference(config, outcome, expect),
            }
        )
    return {
        "document": _show(raw),
        "strict": strict.rule or "accepted",
        "spec": spec.rule or "accepted",
        "features": sorted(features(raw, strict, spec)),
        "parsers": rows,
    }


def _difference(config: ParserConfig, outcome: Outcome, expect: Reading) -> str:
    same = agrees(outcome, expect, typed=config.typed)
    return "" if same else effect_of(outcome, expect)


def _gateway_names(examiner: Examiner) -> Sequence[str]:
    return [target.name for group in examiner.gateways for target in group]


def _gateway(case: Case, examiner: Examiner, name: str) -> dict[str, object]:
    target = next(t for group in examiner.gateways for t in group if t.name == name)
    trace = run(target.name, target.factory, case, target.contract(case))
    effects = [f"{effect.tool}({effect.action})" for effect in trace.effects]
    replies = trace.stdout.count(b"\n")
    return {"gateway": name, "ending": trace.ending, "effects": effects, "replies": replies}


def _text(
    frames: list[dict[str, object]],
    documents: list[dict[str, object]],
    gateways: list[dict[str, object]],
    findings: list[dict[str, str]],
) -> str:
    lines = [
        f"{len(findings)} findings"
        if findings
        else "No findings; what a parser is known to do differently is marked <-."
    ]
    lines += [f"  {f['oracle']} {f['rule']} in {f['target']}: {f['summary']}" for f in findings]
    lines += ["", "The judge on the session:"]
    for number, frame in enumerate(frames, 1):
        lines.append(f"  {number:>3}  {frame['verdict']:<26}  {frame['frame']}")
        if frame["statement"]:
            lines.append(f"       {frame['statement']} [{frame['source']}]")
    for document in documents:
        lines += ["", f"Document  {document['document']}"]
        lines.append(f"  judge: strict {document['strict']}, spec {document['spec']}")
        lines += _parser_rows(document)
    lines += ["", "Gateways:"] if gateways else []
    lines += [
        f"  {g['gateway']:<36} {g['ending']:<8} {g['replies']} replies, effects: "
        f"{', '.join(g['effects']) if isinstance(g['effects'], list) and g['effects'] else 'none'}"
        for g in gateways
    ]
    return "\n".join(printable(line) for line in lines)


def _parser_rows(document: dict[str, object]) -> list[str]:
    rows = document["parsers"]
    assert isinstance(rows, list)
    return [_parser_row(row) for row in rows]


def _parser_row(row: dict[str, str]) -> str:
    said = (row["value"] or row["error"])[:_SHOWN]
    mark = f"   <- {row['differs']}" if row["differs"] else ""
    return f"  {row['parser']:<28} {row['outcome']:<7} {said}{mark}"
