"""What must be and what must not: rules, verdicts, judgements, findings.

A verdict is made for every frame and every line, so verdicts are plain tuples with
names, which cost a third of a frozen dataclass to make; the rest is made far less often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = [
    "Call",
    "Finding",
    "FrameVerdict",
    "Judgement",
    "Layer",
    "ReplyVerdict",
    "Rule",
    "Verdict",
    "make_finding",
    "rule_of",
]

Layer = Literal[
    "framing", "utf8", "json", "rpc", "message", "lifecycle", "tool", "identity", "authorization"
]
Kind = Literal["request", "notification", "response", "batch", "none"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One sentence of the contract. ``profiles`` says in which profiles it rejects."""

    id: str
    layer: Layer
    statement: str
    source: str
    profiles: tuple[str, ...]
    code: int
    closes: bool = True


class Verdict(NamedTuple):
    """The judge's word on one JSON document (bytes of a frame without its LF).

    ``rule`` is ``""`` for an accepted document, else the id of the first rule it breaks, in the
    order of the layers; ``at`` is the byte offset where that was seen. ``value`` is the document as
    Python objects (meaningful only when accepted). ``duplicates`` is true where a name repeats.
    ``minus_zeros`` are the messages whose id is spelled ``-0``, by their places in the batch; 0 for
    a lone message. No value can tell that from ``0``.
    """

    rule: str
    at: int = 0
    value: object = None
    duplicates: bool = False
    minus_zeros: frozenset[int] = frozenset()

    @property
    def accepted(self) -> bool:
        return not self.rule


@dataclass(frozen=True, slots=True)
class Call:
    """An action that the session allows: exactly this tool with exactly these arguments."""

    tool: str
    arguments: dict[str, object]
    required: bool = True
    """False where a target may refuse it: in a batch with invalid members under ``spec``, or where
    nobody knows whether its arguments fit the tool's schema."""


class FrameVerdict(NamedTuple):
    """The judge's word on one frame of a session.

    ``start`` and ``end`` are offsets in the session's bytes (``end`` includes the LF). ``id_token``
    is the id exactly as spelled, ``None`` where there is none or it is unusable. ``ids`` holds the
    ids (str or int) of all requests in the frame that are owed a reply: one for a request, any
    number for a batch. ``calls`` are the actions it may cause. ``reply`` says what may answer it.
    """

    start: int
    end: int
    rule: str
    layer: Layer | Literal[""]
    kind: Kind
    method: str = ""
    ids: tuple[str | int, ...] = ()
    calls: tuple[Call, ...] = ()
    reply: Literal["result", "error", "either", "none", "optional-error"] = "none"
    code: int = 0
    closes: bool = False
    members: tuple[FrameVerdict, ...] = ()
    """For a batch: the word on each member that is a request or bad; empty for one that is rejected
    as a whole.

    Under ``spec`` those of a rejected one stand here as well, since they may be answered one by
    one; ``ids`` are then those of the good ones, which a target may answer or not.
    """

    @property
    def accepted(self) -> bool:
        return not self.rule


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judge's word on a whole session of bytes.

    Frames after ``closed_at`` (the end offset of the frame that closed the session) are listed with
    rule ``life-closed``. ``tail`` is true where the bytes end in a line without LF.
    """

    frames: tuple[FrameVerdict, ...]
    closed_at: int | None = None
    tail: bool = False

    def calls(self) -> list[Call]:
        """All allowed actions, in order."""
        return [call for frame in self.frames for call in frame.calls]


class ReplyVerdict(NamedTuple):
    """The judge's word on one line that a server wrote.

    ``rule`` is ``""`` for a permitted message. ``id`` is that of a response, ``None`` where it is
    null or absent. ``code`` is that of an error. A batch has its responses in ``members``.
    ``trait`` says how params differ from the protocol's schema.
    """

    rule: str
    kind: Kind = "none"
    id: str | int | None = None
    value: object = None
    code: int | None = None
    is_result: bool = False
    members: tuple[ReplyVerdict, ...] = ()
    trait: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a target did that it must not do, and what about its input brought it about.

    ``effect`` is a rule of the oracles, with ``:KIND`` where a rule has kinds. ``deviation`` names
    what is wrong with the input: that of the frame which the effect belongs to, ``none`` for a
    sound one; of a crash, how the target ended. ``signature`` is equal for equal faults.
    ``offending`` are the bytes that show it, raw.
    """

    oracle: str
    rule: str
    target: str
    signature: str
    summary: str
    offending: bytes = b""

    @property
    def family(self) -> str:
        """The family of the target, the first part of the signature."""
        return self.signature.split("|")[0]

    @property
    def effect(self) -> str:
        """The rule with its kind, the second part of the signature."""
        return self.signature.split("|")[1]

    @property
    def deviation(self) -> str:
        """What is wrong with the input, the last part of the signature."""
        return self.signature.split("|", 2)[2]

    def as_dict(self) -> dict[str, str]:
        """Return its parts by name, without the bytes."""
        return {
            "oracle": self.oracle,
            "rule": self.rule,
            "target": self.target,
            "effect": self.effect,
            "deviation": self.deviation,
            "signature": self.signature,
            "summary": self.summary,
        }


def rule_of(signature: str) -> str:
    """Return the rule of a signature: its effect without a kind."""
    return signature.split("|")[1].partition(":")[0]


def make_finding(  # noqa: PLR0913, PLR0917 - the parts of a finding
    oracle: str,
    effect: str,
    target: str,
    deviation: str,
    summary: str,
    offending: bytes = b"",
) -> Finding:
    """Make a finding whose signature is family of the target, effect and deviation.

    The family of a target is its name up to the first ``/``: the reference gateway over ten
    parsers is one family, so that one fault of the gateway is one finding.
    """
    signature = f"{target.partition('/')[0]}|{effect}|{deviation}"
    return Finding(oracle, effect.partition(":")[0], target, signature, summary, offending)
