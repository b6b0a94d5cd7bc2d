"""Oracle *non-action*: nothing acts but what the judge accepted and the policy authorized.

Every frame asks for an action of its own name, so an effect alone says which frame
caused it, and the judge alone says whether that frame could.
"""

from __future__ import annotations

import json
import marshal
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from wirefence.oracles.document import UNKNOWN, LongInteger
from wirefence.oracles.records import Call, Finding, FrameVerdict, Judgement, make_finding
from wirefence.oracles.spellings import name_broken_rule
from wirefence.targets.records import Effect, Trace

__all__ = ["check_non_action"]

_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/]))')


def check_non_action(data: bytes, judgement: Judgement, trace: Trace) -> list[Finding]:
    """Return a finding for each effect of ``trace`` that ``judgement`` of ``data`` does not allow.

    Rules: ``act-rejected``, ``act-unauthorized``, ``act-after-close``, ``act-unfounded`` (whose
    effect it is), ``act-early`` (before the frame was complete), ``act-twice`` and ``act-altered``.
    """
    allowed = _count_allowed_calls(judgement)
    done: Counter[tuple[str, str]] = Counter()
    findings = []
    for effect in trace.effects:
        key = (effect.tool, effect.action)
        granted = allowed.get(key)
        if granted is None:
            rule, why = _charge_effect(data, judgement, effect, allowed)
        elif done[key] == len(granted):
            rule, why = "act-twice", ""
        else:
            rule, why = _compare_arguments(effect, *granted[done[key]])
            done[key] += 1
        if rule:
            findings.append(_make_finding(trace, effect, rule, why))
    return findings


def _count_allowed_calls(
    judgement: Judgement,
) -> dict[tuple[str, str], list[tuple[FrameVerdict, Call]]]:
    """The accepted calls by tool and action, in order: input of others may name an action again."""
    allowed: dict[tuple[str, str], list[tuple[FrameVerdict, Call]]] = {}
    for frame in judgement.frames:
        for call in frame.calls:
            action = call.arguments.get("action")
            if isinstance(action, str):
                allowed.setdefault((call.tool, action), []).append((frame, call))
    return allowed


def _compare_arguments(effect: Effect, frame: FrameVerdict, call: Call) -> tuple[str, str]:
    if effect.fed < frame.end:
        return "act-early", ""
    if not same_arguments(call.arguments, effect.arguments):
        return "act-altered", "arguments"
    return "", ""


def _charge_effect(
    data: bytes,
    judgement: Judgement,
    effect: Effect,
    allowed: Iterable[tuple[str, str]],
) -> tuple[str, str]:
    """Say which rule an effect breaks that no accepted call accounts for, and why."""
    action = effect.action
    if action and any(action == name for _, name in allowed):
        return "act-altered", "tool"
    frame = _find_origin(data, judgement.frames, action)
    if frame is None:
        return "act-unfounded", "action name never sent" if action else "no action name"
    if frame.rule == "life-closed":
        return "act-after-close", ""
    for each in (frame, *frame.members):  # of a batch, a member: the rest of it was granted
        if each.layer in ("identity", "authorization"):
            return "act-unauthorized", each.rule
    raw = data[frame.start : frame.end].removesuffix(b"\n")
    return "act-rejected", name_broken_rule(frame.rule, raw) or "hidden in an accepted frame"


def _find_origin(data: bytes, frames: Iterable[FrameVerdict], action: str) -> FrameVerdict | None:
    """The last frame that gives an action its name; else the first that holds the name at all.

    The last, because an earlier one may be what made it possible, and hold the name by chance.
    """
    spelled = json.dumps(action, ensure_ascii=False).encode("utf-8", "surrogatepass")
    member = re.compile(rb'(?i:"action")\s*:\s*%b' % re.escape(spelled))
    holding = [f for f in frames if action and _collect_names(data[f.start : f.end], action)]
    naming = [f for f in holding or frames if member.search(data, f.start, f.end)]
    return naming[-1] if naming else holding[0] if holding else None


def _collect_names(line: bytes, action: str) -> bool:
    """Whether a frame, good or bad, holds an action's name, as it is or escaped."""
    if action.encode("utf-8", "surrogatepass") in line:
        return True
    text = line.decode("utf-8", "replace")
    return action in text or ("\\" in text and action in _unescape_name(text))


def _unescape_name(text: str) -> str:
    """Text with its escapes undone wherever they stand: a broken frame has no strings."""
    units = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], text)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def same_arguments(said: Mapping[str, object], done: Mapping[str, object]) -> bool:
    """Whether two argument objects are equal as typed values: 1, 1.0 and true differ.

    The order of names is not compared, at any depth: what acts takes names, not positions.
    """
    try:
        if _encode_call(said) == _encode_call(done):
            return True
    except ValueError:  # nested too deeply for marshal, or a type that it does not know
        pass
    return _is_same_call(said, done)


def _encode_call(arguments: Mapping[str, Any]) -> bytes:
    return marshal.dumps(dict(arguments), 2)


def _is_same_call(one: object, other: object) -> bool:
    """Compare value by value, with a list in place of the stack that deep nesting would blow."""
    pairs: list[tuple[Any, Any]] = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                return False
            pairs += [(a[name], b[name]) for name in a]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif a is UNKNOWN or (isinstance(a, LongInteger) and isinstance(b, int)):
            continue  # the judge keeps no value to compare with
        elif a != b or _name_kind(a) != _name_kind(b):
            return False
    return True


def _name_kind(value: object) -> object:
    """What tells equal scalars apart: true from 1 from 1.0, and 0.0 from -0.0."""
    if isinstance(value, float):
        return math.copysign(1.0, value)
    return type(value) if isinstance(value, (bool, int)) else None


def _make_finding(trace: Trace, effect: Effect, rule: str, why: str) -> Finding:
    return make_finding(
        "non-action",
        rule,
        trace.target,
        why,
        f"{effect.tool} ran as {effect.action!r}" + (f": {why}" if why else ""),
    )
