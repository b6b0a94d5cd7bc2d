"""Damage one good session so that a lenient parser could still execute its call.

Damage to a member's name is rejected by every parser and proves little, and chance decides where
damage lands. So it is tried again until a lenient parser could still execute the call. Frames that
no attempt changes are made once, and only changed frames are inspected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wirefence.fuzz.gate.records import Place
from wirefence.fuzz.gate.trials.messages import ToolWording, TrialNames, make_initialize
from wirefence.fuzz.gate.trials.variation import vary_message
from wirefence.strategies.damage import Operator, Scene
from wirefence.strategies.records import Frame, Version
from wirefence.strategies.source import Source

__all__ = ["DamagedSession", "GoodSession", "Learned", "is_tempting"]

_MOST_ATTEMPTS = 16
"""Attempts at damage that a lenient parser could still execute."""
_SAME_RESULTS = 3
"""Attempts with one result after which an operator counts as having only one."""
_FRAME_INDEX: Mapping[str, int] = {"before": 0, "within": 1}
_OTHERS = (
    b'"id":IDENT,"method":"tools/list","params":{"cursor":""}',
    b'"method":"notifications/cancelled","params":{"requestId":"none","reason":"x"}',
    b'"method":"notifications/progress","params":{"progressToken":"none","progress":1,"total":2}',
    b'"id":"none","result":{}',
    b'"id":"none","error":{"code":-32603,"message":"none"}',
    b'"method":"example.com/note","params":{"_meta":{}}',
)
"""Good messages for damage that fits no call."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_METHODS = ("initialize", "ping", "tools/list", "server/discover")
_LENIENT = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class DamagedSession:
    """A damaged session in abstract words, without a sentinel; ``cuts`` as in a case."""

    frames: tuple[Frame, ...]
    place: Place
    cuts: tuple[int, ...] = ()
    eof: bool = False


@dataclass(frozen=True, slots=True)
class Learned:
    """What earlier damage of a run showed, by operator, place and version.

    ``settled`` holds those of which further attempts are no better: they have only one result,
    whatever the choices, or none of many could still be executed. ``fitting`` says which of the
    good messages an operator fits.
    """

    settled: set[object] = field(default_factory=set)
    fitting: dict[object, int] = field(default_factory=dict)


@dataclass(slots=True)
class GoodSession:
    """The handshake and the good requests of one trial, and the place of the damage.

    ``variation`` chooses how the message is spelled that is damaged; ``None`` for the plain way.
    """

    wording: ToolWording
    version: Version
    names: TrialNames
    opening: tuple[Frame, ...]
    place: Place = "after"
    variation: Source | None = None
    probe: Frame = field(init=False)
    _targets: dict[int, Frame] = field(init=False, default_factory=dict)
    _good: set[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.probe = self._make_call("p")
        self._good = {frame.raw for frame in (*self.opening, self.probe)}

    def apply_damage(
        self, operator: Operator, source: Source, learned: Learned
    ) -> DamagedSession | None:
        """Return the first damage that a lenient parser could still execute, else the first of all.

        What is found out on the way is added to ``learned``. ``None`` where the operator does not
        fit.
        """
        key = operator.name, self.place, self.version
        first: DamagedSession | None = None
        seen: set[bytes] = set()
        for attempt in range(_MOST_ATTEMPTS):
            made = self._damage_once(operator, source, learned.fitting)
            if made is None or key in learned.settled:
                return first or made
            strange = self._join_changed_frames(made.frames)
            if strange not in seen and is_tempting(strange, self.wording):
                return made
            first = first or made
            seen.add(strange)
            if attempt == _SAME_RESULTS and len(seen) == 1:
                break
        learned.settled.add(key)
        return first

    def _damage_once(
        self, operator: Operator, source: Source, fitting: dict[object, int]
    ) -> DamagedSession | None:
        at = _FRAME_INDEX.get(self.place, len(self.opening))
        key = operator.name, self.place, self.version
        for index in _list_indexes(fitting.get(key, 0)):
            target = self._targets.get(index) or self._add_target(index)
            good = self._reword_for(operator, target)
            frames = (*self.opening[:at], good, *self.opening[at:], self.probe)
            if operator.family == "chunking":  # pauses are offsets into what is sent
                frames = tuple(map(self.wording.reword_frame, frames))
            made = operator.apply(source, Scene(frames, at, self.version))
            if made is not None:
                fitting[key] = index
                eof = operator.name.endswith("-eof")
                return DamagedSession(made.frames, "end" if eof else self.place, made.cuts, eof)
        return self._damage_handshake(operator, source) if self.place == "after" else None

    def _join_changed_frames(self, frames: Sequence[Frame]) -> bytes:
        """Return the frames beside the good ones, in the server's words; a line is kept whole."""
        parts: list[bytes] = []
        for frame in frames:
            if frame.raw not in self._good or (parts and not parts[-1].endswith(b"\n")):
                parts.append(self.wording.reword_calls(frame.raw))
        return b"".join(parts)

    def _reword_for(self, operator: Operator, frame: Frame) -> Frame:
        """Reword a frame before damage that wraps it whole and would hide the abstract words."""
        concrete = operator.family == "encoding" or operator.name.startswith("stringified")
        return self.wording.reword_frame(frame) if concrete else frame

    def _damage_handshake(self, operator: Operator, source: Source) -> DamagedSession | None:
        """Damage an ``initialize`` where only that fits; the damaged one precedes the good one."""
        if not self.opening:
            return None
        spoiled = make_initialize(b'"%b"' % self.version.encode(), self.names.request_id("v"))
        named = replace(spoiled, nonce=self.names.action_name("v"))
        frames = (named, *self.opening, self.probe)
        made = operator.apply(source, Scene(frames, 0, self.version))
        return None if made is None else DamagedSession(made.frames, "before")

    def _make_call(self, role: str, meta: bytes = b"") -> Frame:
        names = self.names
        return self.wording.make_call(
            self.version, names.request_id(role), names.action_name(role), meta
        )

    def _add_target(self, index: int) -> Frame:
        """Make the good message number ``index`` that damage may fit, calls first."""
        action = self.names.action_name("t")
        if index < 2:
            meta = b'"progressToken":"%b"' % action.encode() if index else b""
            target = self._make_call("t", meta)
        else:
            text = _OTHERS[index - 2].replace(b"IDENT", self.names.request_id("t"))
            target = Frame(b'{"jsonrpc":"2.0",%b}\n' % text, action)
        if self.variation is not None:
            target = replace(target, raw=vary_message(self.variation, target.raw))
        self._targets[index] = target
        return target


def _list_indexes(first: int) -> Iterator[int]:
    """Yield the numbers of all good messages that damage may fit, the likeliest first."""
    yield first
    yield from (index for index in range(2 + len(_OTHERS)) if index != first)


def is_tempting(data: bytes, wording: ToolWording) -> bool:
    """Whether a lenient parser could still execute the call."""
    for line in data.split(b"\n"):
        text = line.decode("utf-8", "replace")
        if '"id"' in text and '"method"' in text and not _is_whole_request(text, wording):
            return False
    return True


def _is_whole_request(text: str, wording: ToolWording) -> bool:
    try:
        value = _LENIENT.decode(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict) or not {"method", "id"} <= value.keys():
        return False
    if value.get("jsonrpc") != "2.0":
        return False
    if value["method"] != "tools/call":
        return value["method"] in _METHODS
    return _is_callable(value.get("params"), wording, spoiled=_REPLACEMENT in text)


def _is_callable(params: object, wording: ToolWording, *, spoiled: bool) -> bool:
    """Whether a tool would execute ``params``; ``spoiled``: some bytes were no UTF-8."""
    if not isinstance(params, dict) or json.dumps(params.get("name")).encode() != wording.tool:
        return False
    if not wording.key:
        return True
    arguments = params.get("arguments")
    if not isinstance(arguments, dict) or wording.key not in arguments:
        return False
    return not spoiled or _are_bad_bytes_in_name(arguments, wording)


def _are_bad_bytes_in_name(arguments: Mapping[str, object], wording: ToolWording) -> bool:
    """Whether bad bytes are only where any bytes will do.

    A folder whose name they change would not exist, and the effect would be missing for that
    reason.
    """
    before, _, behind = wording.value.partition("{nonce}")
    name = str(arguments[wording.key])
    others = [value for key, value in arguments.items() if key != wording.key]
    return (
        name.startswith(before)
        and name.endswith(behind)
        and _REPLACEMENT not in json.dumps(others, ensure_ascii=False)
    )
