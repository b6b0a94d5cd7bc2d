"""One case, through everything, as a table: who accepts, what value, which error.

The key insight: a reader who sees the judge's verdict beside every parser's outcome knows at once
who is at fault, without believing anybody.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from multiprocessing.connection import Connection
from typing import Any

from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget, agrees, reading
from wirefence.fuzz.processes.child import Begun, Failed, end_of, settle, starting, telling
from wirefence.fuzz.text import printable
from wirefence.oracles.agreement import Reading, effect_of
from wirefence.oracles.document import judge_document
from wirefence.oracles.features import features
from wirefence.oracles.records import Finding, FrameVerdict, finding
from wirefence.oracles.rules import BY_ID
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case
from wirefence.targets.parsers.canonical import describe
from wirefence.targets.parsers.configs import ParserConfig
from wirefence.targets.records import Outcome, Trace

__all__ = ["MOST", "Explanation", "explain", "explain_apart"]

MOST = 50
"""Frames, and documents, that are shown."""

_SHOWN = 72
_EFFECTS = 20
_EMPTY = "There is no frame in it: the input is empty."


@dataclass(frozen=True, slots=True)
class Explanation:
    """What everything says of one case, as plain data (:attr:`content`) and as text."""

    content: dict[str, object]
    text: str


def explain(case: Case, examiner: Examiner, still: Callable[[], object] = bool) -> Explanation:
    """Judge a case, parse each of its frames with every parser, run it through every gateway.

    All of it is examined, and the first :data:`MOST` frames and documents are shown. ``still`` is
    called whenever one more target has come to an end.
    """
    found: list[Finding] = []
    documents: list[dict[str, object]] = []
    shown = set(_documents(case)[:MOST])
    for raw in dict.fromkeys(case.data.split(b"\n")):
        named = _named(raw, examiner, still)
        found += examiner.examine_document(raw, named) if named else []
        if raw in shown:
            documents.append(_document(raw, named))
    judged = {t.profile: judge_session(case.data, t.contract_of_all(case)) for t in _all(examiner)}
    gateways = []
    for target in _all(examiner):
        trace, wrong = examiner.examine_gateway(case, target, judged[target.profile])
        # What a server says is read by clients, not by gateways: it is shown and not judged.
        found += wrong if case.direction == "client-to-server" else []
        gateways.append(_gateway(trace))
        still()
    return _explanation(case, examiner, documents, gateways, found)


def _named(
    raw: bytes, examiner: Examiner, still: Callable[[], object]
) -> list[tuple[ParserConfig, Outcome]]:
    """Every parser's outcome, one after another: each may take long for itself."""
    named = []
    for config in examiner.parsers:
        named += Examiner((config,), ()).outcomes(raw)
        still()
    return named


def explain_apart(
    case: Case,
    examiner: Examiner,
    *,
    patience: float,
    tell: Callable[[int], object] = bool,
) -> Explanation:
    """Explain a case in another process: a target that takes it down or hangs is a finding.

    Waits at most ``patience`` seconds for each target. ``tell`` is given how often one has come to
    an end so far. Raises what :func:`explain` raises.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(case, examiner, theirs), daemon=True)
    with starting(forked=True):
        process.start()
    theirs.close()
    said: Explanation | Failed | Begun = Begun()
    ends = count()
    try:
        while isinstance(said, Begun):
            tell(next(ends))
            if not ours.poll(patience):
                process.kill()
                return _ended(case, "live-hang", f"no end of the case within {patience:g} s")
            said = ours.recv()
    except (EOFError, OSError):
        return _ended(case, "live-crash", f"the process died ({end_of(process)})")
    if isinstance(said, Failed):
        raise said.raised()
    return said


def _tell(case: Case, examiner: Examiner, pipe: Connection) -> None:
    settle()
    with telling(pipe):
        pipe.send(explain(case, examiner, lambda: pipe.send(Begun())))


def _ended(case: Case, rule: str, summary: str) -> Explanation:
    """What can be said of a case whose targets are gone: the judge's word and how they went."""
    documents = [_document(raw, ()) for raw in islice(_documents(case), MOST)]
    gone = finding("liveness", rule, "process", "", summary)
    return _explanation(case, Examiner((), ()), documents, [], [gone])


def _explanation(
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
    judged = _judged(case, examiner)
    frames = [_frame(case.data, frame) for frame in judged[:MOST]]
    content: dict[str, object] = {
        "version": case.version,
        "bytes": len(case.data),
        "frames": frames,
        "frames_left_out": len(judged) - len(frames),
        "documents": documents,
        "documents_left_out": len(_documents(case)) - len(documents),
        "gateways": gateways,
        "findings": findings,
    }
    return Explanation(json.loads(json.dumps(content)), _text(content))


def _documents(case: Case) -> list[bytes]:
    """The lines of a case, each once; the end behind the last LF is none."""
    lines = case.data.split(b"\n")
    return list(dict.fromkeys(lines if lines[-1] else lines[:-1]))


def _show(raw: bytes) -> str:
    text = repr(raw[:_SHOWN])[2:-1]
    return f"{text} ... ({len(raw):,} bytes)" if len(raw) > _SHOWN else text


def _judged(case: Case, examiner: Examiner) -> Sequence[FrameVerdict]:
    """The verdicts under the terms of the first gateway."""
    first = next(iter(_all(examiner)), None)
    contract = first.contract(case) if first else Contract(version=case.version)
    return judge_session(case.data, contract).frames


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


def _document(raw: bytes, named: Sequence[tuple[ParserConfig, Outcome]]) -> dict[str, object]:
    strict, spec = judge_document(raw), judge_document(raw, profile="spec")
    expected = {True: reading(strict), False: reading(spec)}
    rows = []
    for config, outcome in named:
        expect = expected[config.strict]
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


def _all(examiner: Examiner) -> Iterator[GatewayTarget]:
    return chain.from_iterable(examiner.gateways)


def _gateway(trace: Trace) -> dict[str, object]:
    return {
        "gateway": trace.target,
        "ending": trace.ending,
        "effects": [f"{effect.tool}({effect.action})" for effect in trace.effects],
        "replies": trace.stdout.count(b"\n"),
    }


def _text(content: dict[str, Any]) -> str:
    findings = content["findings"]
    lines = [
        f"{len(findings)} findings"
        if findings
        else "No findings; what a parser is known to do differently is marked <-."
    ]
    lines += [f"  {f['oracle']} {f['rule']} in {f['target']}: {f['summary']}" for f in findings]
    lines += ["", "The judge on the session:" if content["frames"] else _EMPTY]
    for number, frame in enumerate(content["frames"], 1):
        lines.append(f"  {number:>3}  {frame['verdict']:<26}  {frame['frame']}")
        if frame["statement"]:
            lines.append(f"       {frame['statement']} [{frame['source']}]")
    lines += _left_out(content["frames_left_out"], "frames")
    for document in content["documents"]:
        lines += ["", f"Document  {document['document']}"]
        lines.append(f"  judge: strict {document['strict']}, spec {document['spec']}")
        lines += map(_parser_row, document["parsers"])
    lines += _left_out(content["documents_left_out"], "documents")
    lines += ["", "Gateways:"] if content["gateways"] else []
    width = max((len(g["gateway"]) for g in content["gateways"]), default=0)
    lines += [
        f"  {g['gateway']:<{width}}  {g['ending']:<8} {g['replies']} replies, effects: "
        f"{_effects(g['effects'])}"
        for g in content["gateways"]
    ]
    return "\n".join(printable(line) for line in lines)


def _left_out(count: int, what: str) -> list[str]:
    return ["", f"And {count:,} more {what}, examined and not shown."] if count else []


def _effects(effects: list[str]) -> str:
    more = [f"and {len(effects) - _EFFECTS:,} more"] if len(effects) > _EFFECTS else []
    return ", ".join([*effects[:_EFFECTS], *more]) or "none"


def _parser_row(row: dict[str, str]) -> str:
    said = (row["value"] or row["error"])[:_SHOWN]
    mark = f"   <- {row['differs']}" if row["differs"] else ""
    return f"  {row['parser']:<28} {row['outcome']:<7} {said}{mark}"
