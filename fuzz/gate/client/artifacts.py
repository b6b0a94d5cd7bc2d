"""Write the files of a finding on a client.

The reproducer holds what the *server* sent, as a replay sends it again; the attack and its place
are stored beside it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.client.records import ClientPlace, PlayedAttack
from wirefence.fuzz.gate.records import Facts, Flaw, Options, Place
from wirefence.fuzz.gate.report.artifacts import escape_frame, shown_command, write_file
from wirefence.fuzz.store.redaction import Redactor, redact_finding
from wirefence.fuzz.store.store import Store, locate_finding
from wirefence.fuzz.text import escape_unprintable
from wirefence.oracles.client import ClientReport
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case, Frame
from wirefence.targets.command.records import Launch

__all__ = ["PLACES", "ClientArtifactWriter", "trial_of"]

PLACES: dict[ClientPlace, Place] = {"handshake": "within", "call": "after"}
"""The place of the bad frame in a server's trial that corresponds to each client place."""


@dataclass(frozen=True, slots=True)
class ClientArtifactWriter:
    """Writes the findings of one client to disk; ``lost`` says which could not be kept, and why."""

    store: Store
    launch: Launch
    options: Options
    facts: Facts
    hide: Redactor
    lost: list[str] = field(default_factory=list)

    def write_finding(self, played: PlayedAttack, finding: Finding) -> Flaw:
        """Write one finding with all its files, redacted; return the flaw."""
        found = redact_finding(finding, self.hide)
        case = _make_case(played)
        path = self.store.folder / locate_finding(found)
        transcript, stderr = path.with_suffix(".transcript"), path.with_suffix(".stderr")
        try:
            write_file(
                transcript, self._make_transcript(played, found).encode("utf-8", "backslashreplace")
            )
            write_file(stderr, self.hide.redact_bytes(played.stderr))
            self._save_case(found, case, played)
        except UsageError as error:
            self.lost.append(f"not kept on disk: {error.cause}")
            path = transcript = stderr = Path()
        kept = bool(path.name)
        return Flaw(
            found,
            trial_of(played),
            PLACES[played.place],
            case,
            self.hide.redact_bytes(finding.offending),
            path=str(path) if kept else "",
            transcript=str(transcript) if kept else "",
            stderr=str(stderr) if kept else "",
            replay=shlex.join(["wirefence", "replay", str(path)]) if kept else "",
            trials=(trial_of(played),),
        )

    def _save_case(self, found: Finding, case: Case, played: PlayedAttack) -> None:
        """Raises UsageError."""
        settings = {"attack": played.attack.name, "at": played.place}
        self.store.save_finding(
            found,
            case,
            versions={self.facts.name or self.facts.label: self.facts.release},
            launch=self.launch,
            options={**self.options.as_settings(), **settings},
            note="bytes of a server, played to a client",
        )

    def _make_transcript(self, played: PlayedAttack, found: Finding) -> str:
        """Return everything that the client sent, received and reported."""
        lines = [
            f"finding   {found.signature}",
            f"summary   {found.summary}",
            f"command   {shown_command(self.launch, self.hide)}",
            escape_unprintable(f"client    {played.name} {played.release}, MCP {played.version}"),
            f"attack    {played.attack.name}: {played.attack.about}, at the {played.place}",
            "",
            *(f"> {escape_frame(line, self.hide)}" for line in _split_lines(played.received)),
            *(f"< {escape_frame(line, self.hide)}" for line in _split_lines(played.sent)),
            *(
                escape_unprintable(f"= {t.action}: {_name_outcome(t)} {t.text!r}")
                for t in played.reports
            ),
            f"ending    {played.ending} {played.status}",
        ]
        return self.hide.redact_text("\n".join(lines)) + "\n"


def trial_of(played: PlayedAttack) -> str:
    """Return the name of a play: its attack and place."""
    return f"{played.attack.name} ({played.place})"


def _name_outcome(report: ClientReport) -> str:
    return "error" if report.error else "result"


def _make_case(played: PlayedAttack) -> Case:
    return Case(
        tuple(Frame(line) for line in _split_lines(played.sent)),
        version=played.version or "2025-11-25",
        direction="server-to-client",
        damage=(played.attack.name,),
    )


def _split_lines(data: bytes) -> Iterator[bytes]:
    """Split at LF alone: a lone CR ends no frame."""
    *lines, rest = data.split(b"\n")
    yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
