"""A sanitizer's report, read for the kind of its fault and where that was.

Addresses, sizes and lines differ from run to run and from build to build. What
stays is the kind of fault and the functions nearest to it, between the sanitizer's own frames above
and the interpreter's call machinery below.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

__all__ = ["SanitizerReport", "read_report"]

_DEPTH = 3
_ERROR = re.compile(
    r"^==\d+==\s*ERROR: (\w+Sanitizer|libFuzzer): (?:attempting )?(\S+(?: signal)?)"
)
_RUNTIME = re.compile(r"^(\S.*?): runtime error: (.+)$")
_SUMMARY = re.compile(r"^SUMMARY: (\w+Sanitizer): (?:undefined-behavior )?([\w-]+)")
_ACCESS = re.compile(r"^(READ|WRITE) of size|caused by a (READ|WRITE) memory access")
_FRAME = re.compile(r"^\s+#\d+ 0x[0-9a-f]+\s+(?:in )?(.*)$")
_PLACE = re.compile(
    r"\s+(\([^()]*(?:\+0x[0-9a-f]+|unknown module|<unknown>)[^()]*\)(?: \(BuildId: \w+\))?"
    r"|\S+:\d+(?::\d+)?|\S+\.(?:c|cc|cpp|h|S)|\?\?:\S*|<null>)$"
)
_CLONE = re.compile(r"\.(?:isra|part|cold|constprop|llvm)\b.*")
_TOOL_FRAME = re.compile(
    r"^(?:__asan|__ubsan|__sanitizer|__interceptor|___interceptor|__lsan|__sancov|fuzzer::)"
)
_TOOL_PLACE = re.compile(
    r"compiler-rt/|_with_fuzzer\.so|/libc\.so|/libc-\d|libpthread|nptl/|sysdeps/"
)
_INTERPRETER = re.compile(
    r"^(?:_?PyEval_|_?PyObject_(?:\w*Call|Vectorcall|MakeTpCall)|_?PyVectorcall|_?PyFunction_"
    r"|cfunction_|method_vectorcall|vectorcall_|type_call$|slot_tp_|object_vacall"
    r"|(?:lib)?python[\d.]*t?(?:\.so[\d.]*)?\+0x)"
)
"""Calls of the interpreter; where a distribution has stripped it of names, its file and offset."""


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """What a report says: ``tool``, ``fault`` (and READ or WRITE), functions from the innermost."""

    tool: str
    fault: str
    frames: tuple[str, ...]

    @property
    def kind(self) -> str:
        """What tells this fault from others of its rule."""
        return f"{self.tool} {self.fault} in {' < '.join(self.frames) or 'unknown code'}"

    @property
    def sentence(self) -> str:
        """The fault and its innermost function, for people."""
        return f"{self.tool}: {self.fault}" + (f" in {self.frames[0]}" if self.frames else "")


def read_report(text: str) -> SanitizerReport | None:
    """Read the first report of AddressSanitizer, UBSan or libFuzzer's deadly signal in ``text``."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        head = _parse_heading(line)
        if head is None:
            continue
        tool, fault = head
        rest = lines[number + 1 :]
        fault = _find_summary(tool, rest) or fault
        near = _find_cycle if fault == "stack-overflow" else _find_nearest
        return SanitizerReport(
            tool, " ".join([fault, *_find_access(rest)]), near(_read_stack(rest))
        )
    return None


def _parse_heading(line: str) -> tuple[str, str] | None:
    found = _ERROR.match(line)
    if found:
        known = found[1] != "libFuzzer" or found[2] == "deadly signal"
        return (found[1], found[2].rstrip(":")) if known else None
    found = _RUNTIME.match(line)
    if found is None:
        return None
    # Numbers and types in the message are the input's accident; its first words are the fault.
    return "UndefinedBehaviorSanitizer", "-".join(re.split(r"[:;(']| of ", found[2])[0].split()[:4])


def _find_summary(tool: str, lines: Iterable[str]) -> str:
    """The fault in the tool's own word: its heading is a sentence for some of them."""
    for line in lines:
        if _ERROR.match(line):
            break
        found = _SUMMARY.match(line)
        if found and found[1] == tool == "AddressSanitizer":
            return found[2]
    return ""


def _find_access(lines: Iterable[str]) -> list[str]:
    for line in islice(lines, 4):
        found = _ACCESS.search(line)
        if found:
            return [found[1] or found[2]]
    return []


def _read_stack(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Function and place of each frame of the first stack: what allocated comes after it."""
    begun = False
    for line in lines:
        found = _FRAME.match(line)
        if found:
            begun = True
            yield _split_frame(found[1])
        elif begun:
            return


def _split_frame(frame: str) -> tuple[str, str]:
    found = _PLACE.search(f" {frame}")
    place = found[1] if found else ""
    function = frame[: len(frame) - len(place)].strip() if place else frame.strip()
    function = function.replace("(anonymous namespace)::", "").partition("(")[0]
    return _CLONE.sub("", function).strip() or _module_of(place), place


def _module_of(place: str) -> str:
    """For a frame without a name: its file and offset, which are equal for equal builds."""
    found = re.search(r"([^/()\s]+\+0x[0-9a-f]+)", place)
    return found[1] if found else "?"


def _drop_tool_frames(stack: Iterable[tuple[str, str]]) -> list[str]:
    """The functions of a stack that are not the sanitizer's."""
    return [
        name
        for name, place in stack
        if not _TOOL_FRAME.match(name) and not _TOOL_PLACE.search(place)
    ]


def _find_nearest(stack: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The innermost functions that are neither the sanitizer's nor the interpreter's calls."""
    frames = _drop_tool_frames(stack)
    end = next((i for i, name in enumerate(frames) if _INTERPRETER.match(name)), len(frames))
    return tuple(frames[:end][:_DEPTH] or frames[:_DEPTH])


def _find_cycle(stack: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The functions that call each other without end: where the stack runs out is an accident."""
    frames = _drop_tool_frames(stack)
    turning = sorted(name for name, times in Counter(frames).items() if times > 2)
    return tuple(turning[:_DEPTH] or frames[:_DEPTH])
