"""Metadata beside the bytes of a reproducer, and its validation.

A reproducer outlives the code that made it. So its metadata is validated like hostile input: each
field has a type, unknown fields are rejected, and a hash detects changed bytes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from wirefence.fuzz.store.redaction import HIDDEN, Redactor, redact_finding
from wirefence.fuzz.store.typed_records import Bounds, as_content, decode_json, read_record
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case, Direction, Version
from wirefence.targets.command.records import Launch

__all__ = [
    "FORMAT",
    "MIGRATE",
    "PYTHON",
    "Command",
    "Metadata",
    "OldFormError",
    "Status",
    "check_format",
    "decode_metadata",
    "encode_metadata",
    "make_metadata",
    "redact_command",
]

Status = Literal["open", "fixed", "upstream"]
"""``open``: fails and must be fixed here. ``fixed``: must never fail again. ``upstream``: fails,
and a dependency or a foreign server must fix it.
"""

Size = Annotated[int, Bounds(least=0)]
Digest = Annotated[str, Bounds(pattern=r"^(?:[0-9a-f]{64})?$")]
Sides = Annotated[tuple[str, ...], Bounds(max_length=2)]
Day = Annotated[str, Bounds(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


FORMAT = 2
"""Version of the metadata of findings: signatures are target family, effect and deviation."""

MIGRATE = "rewrite it with wirefence crashes migrate of the commit that CHANGELOG.md names"
"""What to do with a file of an older form."""

PYTHON = "{python}"
"""Placeholder in a command for the interpreter that runs Wirefence, whose path differs by
machine.
"""

_MOVED = {"targets.gateway": "wirefence.targets.gateway"}
"""Modules to start that reproducers name as they were called before there was one package."""


class OldFormError(ValueError):
    """A file is of another form than this version writes."""


@dataclass(frozen=True, slots=True)
class Command:
    """A launch command without its secrets. A rerun inherits redacted variables.

    The word :data:`PYTHON` is the interpreter that runs Wirefence.
    """

    argv: tuple[str, ...]
    env: dict[str, str | None] = field(default_factory=dict)
    cwd: str | None = None

    def to_launch(self) -> Launch:
        """Return the command to start. Raises ValueError if a secret was redacted from ``argv``."""
        if any(HIDDEN in word for word in self.argv):
            raise ValueError("its command held a secret, which is not kept")
        env = {name: value for name, value in self.env.items() if HIDDEN not in (value or "")}
        words = self._with_moved_module()
        argv = tuple(sys.executable if word == PYTHON else word for word in words)
        return Launch(argv, env, Path(self.cwd) if self.cwd else None)

    def _with_moved_module(self) -> tuple[str, ...]:
        """The words, with our gateway by the name under which it is installed now.

        A folder ``targets`` where the command starts holds what the old name means: it is that of
        another project, or of our checkout.
        """
        if self.argv[:1] != (PYTHON,) or (Path(self.cwd or ".") / "targets").is_dir():
            return self.argv
        befores = ("", *self.argv)
        pairs = zip(befores, self.argv, strict=False)
        return tuple(_MOVED.get(word, word) if before == "-m" else word for before, word in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Everything about a reproducer except its bytes.

    ``size`` and ``sha256`` describe the bytes beside it, ``original_size`` the input as found.
    ``replaces`` is the hash of the bytes that were there before and may still be there if their
    replacement was interrupted. ``cuts`` are the offsets at which the writer paused; ``direction``
    names the writer. ``command`` is the launch command, with the gate's options in ``options``. A
    difference of parsers has two ``sides`` as ``wirefence compare`` spells them, and interpreter
    and document form in ``options``. ``format`` is the version of this record.
    """

    format: Annotated[int, Bounds(least=FORMAT, most=FORMAT)] = FORMAT
    oracle: Annotated[str, Bounds(pattern=r"^[a-z][a-z-]*$")]
    rule: str
    signature: Annotated[str, Bounds(min_length=1)]
    summary: str
    target: Annotated[str, Bounds(min_length=1)]
    status: Status
    first_seen: Day
    protocol: Version
    direction: Direction = "client-to-server"
    damage: tuple[str, ...] = ()
    cuts: tuple[int, ...] = ()
    size: Size
    original_size: Size
    sha256: Digest
    replaces: Digest = ""
    versions: dict[str, str] = field(default_factory=dict)
    command: Command | None = None
    options: dict[str, str] = field(default_factory=dict)
    sides: Sides = ()
    note: str = ""

    def to_finding(self) -> Finding:
        """Return the finding that the reproducer shows."""
        return Finding(self.oracle, self.rule, self.target, self.signature, self.summary)

    def matches_bytes(self, data: bytes) -> bool:
        """Return whether ``data`` are the bytes described here, or those that they replace."""
        return hashlib.sha256(data).hexdigest() in (self.sha256, self.replaces)


def make_metadata(  # noqa: PLR0913 - one for each thing that may be known of a finding
    found: Finding,
    case: Case,
    *,
    versions: Mapping[str, str],
    launch: Launch | None = None,
    options: Mapping[str, str] | None = None,
    sides: tuple[str, ...] = (),
    status: Status = "open",
    note: str = "",
) -> Metadata:
    """Return metadata for a finding of ``case``, first seen today."""
    return Metadata(
        oracle=found.oracle,
        rule=found.rule,
        signature=found.signature,
        summary=redact_finding(found, Redactor.for_launch(launch)).summary
        if launch
        else found.summary,
        target=found.target,
        status=status,
        first_seen=datetime.now(UTC).date().isoformat(),
        protocol=case.version,
        direction=case.direction,
        damage=case.damages(),
        cuts=case.cuts,
        size=len(case.data),
        original_size=len(case.data),
        sha256=hashlib.sha256(case.data).hexdigest(),
        versions=dict(versions),
        command=redact_command(launch) if launch else None,
        options=dict(options or {}),
        sides=sides,
        note=note,
    )


def encode_metadata(metadata: Metadata) -> bytes:
    """Return metadata as indented JSON, ASCII only so that it is safe to print."""
    content = as_content(metadata)
    kept = {
        name: value
        for name, value in content.items()
        if name in _ALWAYS or _is_written(name, value)
    }
    return (json.dumps(kept, indent=1) + "\n").encode()


_ALWAYS = {"cuts", "damage", "size", "original_size", "versions", "rule", "summary"}


def _is_written(name: str, value: object) -> bool:
    """Return whether a field differs from its default."""
    return bool(value) and (name, value) != ("direction", "client-to-server")


def decode_metadata(content: bytes) -> Metadata:
    """Parse metadata. Raises ValueError that names the wrong field, or OldFormError."""
    value = decode_json(content)
    check_format(value)
    return read_record(value, Metadata)


def check_format(content: object) -> None:
    """Raise OldFormError for metadata, as plain values, that is of another form."""
    named = isinstance(content, dict) and isinstance(content.get("signature"), str)
    if isinstance(content, dict) and named and content.get("format") != FORMAT:
        raise OldFormError(f"its form is {content.get('format', 1)!r}, and not {FORMAT}")


def redact_command(launch: Launch) -> Command:
    """Return a command with the secrets removed from its words and variables."""
    hide = Redactor.for_launch(launch)
    shown = hide.redact_env(launch.env)
    env = {name: value and shown[name] for name, value in launch.env.items()}
    argv = tuple(
        PYTHON if word == sys.executable else word for word in hide.redact_argv(launch.argv)
    )
    return Command(argv, env, str(launch.cwd) if launch.cwd else None)
