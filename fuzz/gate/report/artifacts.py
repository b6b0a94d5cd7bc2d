"""Write the files of a finding: the reproducer, the transcript, and stderr.

A transcript is evidence: it shows bytes unchanged, escaped once, in the order in which they were
sent and received, without a summary; only secrets are redacted. A finding that the disk does not
take stays in the report, which says why it has no files.
"""

from __future__ import annotations

import shlex
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.confirm import Confirmed
from wirefence.fuzz.gate.records import Facts, Flaw, Observation, Options
from wirefence.fuzz.gate.server.startup import variant_of
from wirefence.fuzz.store.redaction import Redactor, redact_finding
from wirefence.fuzz.store.store import Store, locate_finding
from wirefence.targets.command.records import Launch

__all__ = ["ArtifactWriter", "escape_frame", "shown_command", "write_file"]

_MOST_SHOWN = 4_096
"""Bytes of a frame that a transcript shows: the reproducer holds the rest."""


def shown_command(launch: Launch, hide: Redactor) -> str:
    """Return the command line with secrets redacted."""
    return shlex.join(hide.redact_argv(launch.argv))


def write_file(path: Path, content: bytes) -> None:
    """Write one file of a finding. Raises UsageError where the disk does not take it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"cannot write to {path}: {error.strerror}", "choose another --out"
        ) from error


def escape_frame(raw: bytes, hide: Redactor) -> str:
    """Return one frame as a transcript shows it: redacted, then escaped, long ones cut."""
    text = _escape_bytes(hide.redact_bytes(raw))
    return text if raw.endswith(b"\n") else f"{text} (no LF)"


@dataclass(frozen=True, slots=True)
class ArtifactWriter:
    """Writes the findings of one launch to disk; ``lost`` says which could not be kept, and why."""

    store: Store
    launch: Launch
    options: Options
    facts: Facts
    hide: Redactor
    lost: list[str] = field(default_factory=list)

    def write_finding(
        self, found: Confirmed, trials: tuple[str, ...], launch: Launch | None = None
    ) -> Flaw:
        """Write one finding with all its files, those for people first; return the flaw.

        ``launch`` is the command where it differs from that of the gate.
        """
        given = launch = launch or self.launch
        trial = found.prepared.trial
        finding = redact_finding(found.finding, self.hide)
        versions = {self.facts.name or self.facts.label: self.facts.release}
        settings = self.options.as_settings()
        variant = variant_of(finding)
        if variant is not None:  # a replay applies the startup variant itself
            launch, settings = self.launch, {**settings, "cause": variant.name}
        path = self.store.folder / locate_finding(finding)
        transcript, stderr = path.with_suffix(".transcript"), path.with_suffix(".stderr")
        try:
            content = self.make_transcript(found, given)
            write_file(transcript, content.encode("utf-8", "backslashreplace"))
            write_file(stderr, self.hide.redact_bytes(found.seen.stderr))
            self.store.save_finding(
                finding, trial.case, versions=versions, launch=launch, options=settings
            )
        except UsageError as error:
            self.lost.append(f"not kept on disk: {error.cause}")
            path = transcript = stderr = Path()
        return Flaw(
            finding,
            trial.name,
            trial.place,
            trial.case,
            self.hide.redact_bytes(found.finding.offending),
            _path_text(path),
            _path_text(transcript),
            _path_text(stderr),
            self.replay_line(path) if path.name else "",
            trials,
        )

    @staticmethod
    def replay_line(path: Path) -> str:
        """Return the command line that reproduces it: command and options are beside the bytes."""
        return shlex.join(["wirefence", "replay", str(path)])

    def make_transcript(self, found: Confirmed, launch: Launch | None = None) -> str:
        """Return everything sent and received, one line for each frame, by time."""
        seen, launch = found.seen, launch or self.launch
        sent = seen.stdin or found.prepared.trial.case.data
        lines = [
            f"finding   {found.finding.signature}",
            f"summary   {self.hide.redact_and_shorten(found.finding.summary)}",
            f"command   {shown_command(launch, self.hide)}",
            *(
                f"env       {name}={value}"
                for name, value in self.hide.redact_env(launch.env).items()
            ),
            f"server    {self.facts.name} {self.facts.release}, MCP {self.facts.version}",
            "",
            *self._list_dialogue(sent, seen),
            *self._list_effects(seen),
            f"ending    {seen.ending} {seen.status}".rstrip(),
        ]
        return self.hide.redact_text("\n".join(lines)) + "\n"

    def _list_dialogue(self, sent: bytes, seen: Observation) -> Iterator[str]:
        """Yield what was sent and received, with a line for each moment of either."""
        went = [
            (at, f"> {self._escape_frame(raw)}")
            for at, raw in _split_with_times(sent, seen.times.sent)
        ]
        out = b"".join(line + b"\n" for line in seen.lines) + seen.tail
        came = [
            (at, f"< {self._escape_frame(raw)}")
            for at, raw in _split_with_times(out, seen.times.received)
        ]
        before = ""
        for at, text in sorted((*went, *came), key=lambda each: each[0]):
            moment = f"at        {at:.3f} s"
            if seen.times.sent and moment != before:
                yield moment
            before = moment
            yield text

    def _escape_frame(self, raw: bytes) -> str:
        return escape_frame(raw, self.hide)

    def _list_effects(self, seen: Observation) -> Iterator[str]:
        """Yield the effects and their content, which may hold the name of the frame."""
        for e in seen.effects:
            done, carried = (
                _escape_bytes(self.hide.redact_bytes(part)) for part in (e.detail, e.content)
            )
            yield f"! {e.recorder} {e.kind} {done} {carried}".rstrip()


def _split_with_times(
    data: bytes, marks: Sequence[tuple[float, int]]
) -> Iterator[tuple[float, bytes]]:
    """Yield each line with the time when it was complete; split at LF only, as CR ends no frame."""
    *lines, rest = data.split(b"\n")
    sizes, end = [size for _, size in marks], 0
    for line in (*(line + b"\n" for line in lines), *([rest] if rest else [])):
        end += len(line)
        at = bisect_left(sizes, end)
        yield marks[min(at, len(marks) - 1)][0] if marks else 0.0, line


def _path_text(path: Path) -> str:
    return str(path) if path.name else ""


def _escape_bytes(raw: bytes) -> str:
    text = repr(raw[:_MOST_SHOWN])[2:-1]
    return text if len(raw) <= _MOST_SHOWN else f"{text} ... {len(raw):,} bytes"
