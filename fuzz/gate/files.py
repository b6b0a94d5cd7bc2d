"""What a finding leaves on disk: the reproducer, the transcript, and stderr by itself.

The key insight: a transcript is evidence, so it shows bytes and times as they were, escaped once,
with nothing summed up; only secrets are taken out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzz.gate.confirm import Confirmed
from fuzz.gate.records import Facts, Flaw, Options, Seen
from fuzz.gate.redact import Redactor
from fuzz.gate.startup import cause_of
from fuzz.store import Store
from targets.command.records import Launch

__all__ = ["Filing", "shown_command"]

_LONG = 4_096


def shown_command(launch: Launch, hide: Redactor) -> str:
    """The command as it may be shown."""
    return shlex.join(hide.argv(launch.argv))


@dataclass(frozen=True, slots=True)
class Filing:
    """Puts findings on disk, all of one launch."""

    store: Store
    launch: Launch
    options: Options
    facts: Facts
    hide: Redactor

    def file(self, found: Confirmed, trials: tuple[str, ...], launch: Launch | None = None) -> Flaw:
        """Save one finding with all that belongs to it. Raises UsageError.

        ``launch`` is the command where it is not that of the gate.
        """
        launch = launch or self.launch
        trial, finding = found.prepared.trial, found.charge.finding
        versions = {self.facts.name or self.facts.label: self.facts.release}
        settings = self.options.settings()
        cause = cause_of(finding)
        if cause is not None:  # a replay makes the change of the cause itself
            launch, settings = self.launch, {**settings, "cause": cause.name}
        path = self.store.save(
            finding, trial.case, versions=versions, launch=launch, options=settings
        )
        transcript = path.with_suffix(".transcript")
        transcript.write_text(self.transcript(found), encoding="utf-8")
        stderr = path.with_suffix(".stderr")
        stderr.write_bytes(self.hide.raw(found.seen.stderr))
        return Flaw(
            finding,
            trial.name,
            trial.place,
            trial.case,
            self.hide.raw(found.charge.offending),
            str(path),
            str(transcript),
            str(stderr),
            self.replay(path),
            trials,
        )

    @staticmethod
    def replay(path: Path) -> str:
        """The one line that shows it again: the command and options are beside the bytes."""
        return shlex.join(["wirefence", "replay", str(path)])

    def transcript(self, found: Confirmed) -> str:
        """Everything that went in and came out, one line for each frame."""
        seen = found.seen
        sent = seen.stdin or found.prepared.trial.case.data
        lines = [
            f"finding   {found.charge.finding.signature}",
            f"summary   {found.charge.finding.summary}",
            f"command   {shown_command(self.launch, self.hide)}",
            *(f"env       {name}={value}" for name, value in self._changes().items()),
            f"server    {self.facts.name} {self.facts.release}, MCP {self.facts.version}",
            "",
            *(f"> {_shown(line)}" for line in sent.splitlines(keepends=True) or []),
            *(f"< {_shown(line + bytes([10]))}" for line in seen.lines),
            *([f"< {_shown(seen.tail)} (no LF)"] if seen.tail else []),
            *_effects(seen),
            f"ending    {seen.ending} {seen.status}".rstrip(),
        ]
        return self.hide.text("\n".join(lines)) + "\n"

    def _changes(self) -> Mapping[str, str]:
        return self.hide.env(self.launch.env)


def _shown(raw: bytes) -> str:
    text = repr(raw[:_LONG])[2:-1]
    return text if len(raw) <= _LONG else f"{text} ... {len(raw):,} bytes"


def _effects(seen: Seen) -> list[str]:
    """What was done, and what of it was carried: there the name of the frame may be."""
    return [
        f"! {e.recorder} {e.kind} {_shown(e.detail)} {_shown(e.content)}".rstrip()
        for e in seen.effects
    ]
