"""What one session showed, put in order: which reply and which effect belongs to which frame.

Evidence is built from the trace of a gateway in this process (:mod:`.trace_evidence`), or by the
gate from what a server process wrote and did. Every rule about sessions is decided from it, in
:mod:`.session_findings` and nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.deviations import find_deviation
from wirefence.oracles.records import Finding, FrameVerdict, ReplyVerdict, make_finding
from wirefence.strategies.contract import Contract
from wirefence.targets.records import Ending

__all__ = [
    "Act",
    "Answer",
    "Evidence",
    "Owed",
    "Reply",
    "TypedId",
    "has_failed",
    "has_id",
    "has_succeeded",
    "is_owed",
    "is_rejected",
    "list_responses",
    "member_of",
    "result_of",
    "sort_replies",
]

_TOO_EARLY = ("life-not-initialized", "life-not-ready", "life-reinitialize")
_OPENINGS = {
    "life-not-initialized": b'"initialize"',
    "life-not-ready": b"notifications/initialized",
}
TypedId = tuple[type, str | int]
"""A request id with its type: ``1`` and ``"1"`` are two ids."""

Fault = Literal["", "early", "twice", "altered", "unfounded"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A response that the target wrote: the verdict on it, and the line that holds it."""

    verdict: ReplyVerdict
    line: bytes = b""


@dataclass(frozen=True, slots=True)
class Act:
    """One effect that the session does not account for.

    ``owner`` is the frame that asked for it, ``None`` where no frame did. ``fault`` says what is
    wrong with an effect of a call that was granted (``""`` where the call was not). ``kind`` tells
    kinds of effects apart, ``text`` says what was done and ``raw`` shows it.
    """

    owner: FrameVerdict | None
    text: str
    fault: Fault = ""
    kind: str = ""
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Owed:
    """A request that is owed a reply, and the replies that have its id.

    ``shared``: a rejected frame has the id as well, so that its error may carry it. ``twin``: one
    of the replies may belong to a request with the same id of another type. ``lost`` says which
    effect is missing although the call was granted; ``""`` where none is, or none was looked for.
    """

    frame: FrameVerdict
    name: str | int
    replies: tuple[Reply, ...]
    shared: FrameVerdict | None = None
    twin: bool = False
    lost: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Replies with one id that no request has which is owed one.

    ``owners`` are the frames that hold the id, most likely first.
    """

    name: str
    replies: tuple[Reply, ...]
    owners: tuple[FrameVerdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The record of one session, as every rule needs it.

    ``data`` are all bytes sent, ``frames`` the verdicts on those that this session saw. ``exact``
    says that the target follows docs/contract.md to the letter, with its error codes and silence;
    servers of others need not. ``done`` are the effects of calls that are granted or refused, in
    order, each as tool and arguments where those are known: one for each call. ``acts`` are all
    other effects, and those that a granted call must not have. ``said`` holds the verdict on each
    of ``lines``, and ``tail`` what stands behind the last LF. ``served`` is false where the target
    no longer answered, for whatever reason. ``status`` says how a process ended, ``last_words`` the
    last line of its error. ``secrets`` are strings that no reply may hold, ``names`` those that no
    error may hold. ``memory_bound`` and ``peak_bytes`` are bytes; ``held_bytes`` what was kept from
    one write to the next. ``control`` is the same session without its rejected frames.
    """

    target: str
    data: bytes
    contract: Contract
    frames: tuple[FrameVerdict, ...]
    exact: bool = False
    owed: tuple[Owed, ...] = ()
    strays: tuple[Answer, ...] = ()
    nameless: tuple[Reply, ...] = ()
    done: tuple[object, ...] = ()
    acts: tuple[Act, ...] = ()
    lines: tuple[bytes, ...] = ()
    said: tuple[ReplyVerdict, ...] = ()
    tail: bytes = b""
    ending: Ending = "open"
    served: bool = True
    status: str = ""
    last_words: str = ""
    seconds: float = 0.0
    secrets: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    peak_bytes: int = 0
    memory_bound: int = 0
    held_bytes: int = 0
    held_bound: int | None = None
    results: dict[object, Reply] = field(default_factory=dict)
    control: Evidence | None = None
    _deviations: dict[object, str] = field(default_factory=dict, compare=False, repr=False)

    def deviation_of(self, frame: FrameVerdict | None) -> str:
        """Return what is wrong with a frame; of one after the close, with what closed it."""
        if frame is None:
            return NONE
        if frame.rule == "life-closed":
            return self.deviation_of(next((each for each in self.frames if each.closes), None))
        key = frame.start, frame.rule, frame.ids  # the members of a batch start where it does
        found = self._deviations.get(key)
        if found is None:
            found = find_deviation(self.data, frame, self.contract)
            self._deviations[key] = found
        return found

    def find_cause(self, frame: FrameVerdict | None) -> FrameVerdict | None:
        """Return the frame whose deviation explains what was done with ``frame``.

        Where a rejected ``initialize`` was taken, the session is open in the target's eyes: what it
        does then with frames that come too early is due to that one.
        """
        if frame is None or frame.rule not in _TOO_EARLY:
            return frame
        taken = (each for each in self._list_openings() if each.start < frame.start)
        return next(taken, frame)

    def _list_openings(self) -> list[FrameVerdict]:
        """Return each rejected ``initialize`` that was taken.

        It was answered with a result, or a good one behind it was refused as a second one.
        """
        answered = [
            owner
            for answer in self.strays
            for owner in answer.owners[:1]
            if any(each.verdict.is_result for each in answer.replies)
        ]
        again = (each for each in self.owed if _is_refused_opening(each))
        refused = next((each.frame.start for each in again), -1)
        silent = [each for each in self.list_rejected() if each.start < refused]
        return [each for each in (*answered, *silent) if each.method == "initialize"]

    def is_ambiguous(self, frame: FrameVerdict | None) -> bool:
        """Whether nothing tells which of two frames the target took that it must reject.

        A frame comes too early only because a message of the handshake before it must be rejected,
        and no reply tells whether that was taken. One that got an error was not.
        """
        opening = _OPENINGS.get(frame.rule if frame else "")
        if frame is None or opening is None or self.find_cause(frame) is not frame:
            return False
        before = (each for each in self.list_rejected() if each.start < frame.start)
        return any(
            opening in self.data[each.start : each.end] and not self._was_refused(each)
            for each in before
        )

    def _was_refused(self, frame: FrameVerdict) -> bool:
        """Whether a rejected frame was answered with an error."""
        if self.nameless and len(self.nameless) >= len(self.list_rejected()):
            return True
        own = (each.replies for each in self.strays if frame in each.owners[:1])
        return any(not reply.verdict.is_result for replies in own for reply in replies)

    def list_rejected(self) -> list[FrameVerdict]:
        """Return the frames that must be rejected, in order."""
        return [frame for frame in self.frames if is_rejected(frame)]

    def make_finding(
        self,
        oracle: str,
        effect: str,
        frame: FrameVerdict | str | None,
        text: str,
        raw: bytes = b"",
    ) -> Finding:
        """Make a finding about a frame, or with a deviation that is known already."""
        deviation = frame if isinstance(frame, str) else self.deviation_of(self.find_cause(frame))
        return make_finding(oracle, effect, self.target, deviation, text, raw)


def _is_refused_opening(owed: Owed) -> bool:
    """Whether a good ``initialize`` was answered with errors only."""
    opens = owed.frame.method == "initialize" and owed.frame.reply == "result"
    return opens and bool(owed.replies) and not any(x.verdict.is_result for x in owed.replies)


def is_owed(frame: FrameVerdict) -> bool:
    """Whether every request of a frame must be answered."""
    return bool(frame.ids) and frame.reply in ("result", "error", "either")


def has_id(frame: FrameVerdict, key: TypedId) -> bool:
    """Whether a frame has an id, of that type."""
    return any(type(name) is key[0] and name == key[1] for name in frame.ids)


def is_rejected(frame: FrameVerdict) -> bool:
    """Whether a frame must be rejected: it may be answered with an error, or not at all."""
    return frame.reply == "optional-error"


def list_responses(verdict: ReplyVerdict) -> list[ReplyVerdict]:
    """Return the valid responses on one line of stdout: one, or those of a batch."""
    parts: Sequence[ReplyVerdict] = verdict.members or (verdict,)
    return [each for each in parts if each.kind == "response" and not each.rule]


def sort_replies(
    said: Iterable[ReplyVerdict], lines: Iterable[bytes]
) -> tuple[dict[TypedId, list[Reply]], list[Reply]]:
    """Return the responses of a transcript by typed id, and those with a null id.

    ``said`` holds the verdict on each of ``lines``.
    """
    answers: dict[TypedId, list[Reply]] = defaultdict(list)
    nameless: list[Reply] = []
    for verdict, line in zip(said, lines, strict=True):
        for each in list_responses(verdict):
            if each.id is None:
                nameless.append(Reply(each, line))
            else:
                answers[type(each.id), each.id].append(Reply(each, line))
    return dict(answers), nameless


def result_of(reply: ReplyVerdict) -> dict[str, object]:
    """Return the result of a response; empty where it has none."""
    result = member_of(reply, "result")
    return result if isinstance(result, dict) else {}


def has_failed(reply: ReplyVerdict) -> bool:
    """Whether a result says that the tool failed."""
    return result_of(reply).get("isError") is True


def has_succeeded(reply: ReplyVerdict) -> bool:
    """Whether a result is that of a tool which did its work."""
    return "content" in result_of(reply) and not has_failed(reply)


def member_of(reply: ReplyVerdict, name: str) -> object:
    """Return a member of a response; ``None`` where it has none."""
    return reply.value.get(name) if isinstance(reply.value, dict) else None
