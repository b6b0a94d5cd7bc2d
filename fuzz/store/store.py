"""Findings on disk: raw bytes as sent, metadata beside them, one pair for each signature.

The key insight: a finding counts only once it is on disk. Each file is written under another name,
synced and renamed, bytes before metadata, so that a metadata file proves its bytes to be whole.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.paths import exists, is_file, is_folder
from wirefence.fuzz.store.atomic_write import write_whole
from wirefence.fuzz.store.metadata import Metadata, Status, decode, describe, encode
from wirefence.oracles.records import Finding
from wirefence.strategies.records import VERSIONS, Case, Direction, Frame
from wirefence.targets.command.records import Launch

__all__ = [
    "COMPANIONS",
    "Store",
    "case_from_bytes",
    "content_of",
    "place_of",
    "read_case",
]

COMPANIONS = (".transcript", ".stderr")
"""What may lie beside a finding to be read by people; it is not part of a reproducer."""

_SLUG = re.compile(r"[^a-z0-9]+")
_DAMAGED = (ValueError, KeyError, TypeError, RecursionError)


def content_of(path: Path) -> bytes:
    """The bytes of a file that was met in a folder. Raises OSError.

    Whoever reads a FIFO waits for a writer, which is right only where its user named it.
    """
    if exists(path) and not is_file(path) and not is_folder(path):
        raise OSError(errno.EINVAL, "it is neither file nor folder", str(path))
    return path.read_bytes()


def place_of(finding: Finding, beside: str = "") -> str:
    """Where the bytes of a finding go, below a store: ``<oracle>/<slug>-<hash>.frame``.

    The slug is made of rule, target and the end of the signature (for parsers, the features of the
    input); the hash is of the signature, so equal faults have one place. With ``beside``, the hash
    of its bytes, it is where a fixed reproducer is once its fault came back by other bytes.
    """
    digest = hashlib.sha256((finding.signature + beside).encode()).hexdigest()[:12]
    kind = finding.signature.rpartition("|")[2].rpartition(": ")[2]
    words = (finding.rule, finding.target, "" if kind == finding.rule else kind)
    slug = _SLUG.sub("-", "-".join(words).lower())[:60].strip("-")
    return f"{finding.oracle}/{slug}-{digest}.frame"


@dataclass(frozen=True, slots=True)
class Store:
    """A directory of findings: ``<oracle>/<slug>-<hash>.frame`` and ``.json`` beside each."""

    folder: Path

    def prepare(self) -> None:
        """Make the folder and try to write there. Raises UsageError where that fails."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def signatures(self, *, fixed: bool = True) -> set[str]:
        """Signatures of all findings, or of those that are not marked ``fixed``.

        Raises UsageError for a metadata file that cannot be read, rather than forget a finding.
        """
        found = set()
        for path in sorted(self.folder.glob("*/*.json")):
            try:
                content = json.loads(content_of(path))
                signature = _text(content["signature"])
            except (OSError, *_DAMAGED) as error:
                raise UsageError(
                    f"{path} is not readable as a finding's metadata ({type(error).__name__})",
                    "mend the file or move it out of the folder",
                ) from error
            if fixed or content.get("status") != "fixed":
                found.add(signature)
        return found

    def save(  # noqa: PLR0913 - one for each thing that may be known of a finding
        self,
        finding: Finding,
        case: Case,
        *,
        versions: Mapping[str, str],
        launch: Launch | None = None,
        options: Mapping[str, str] | None = None,
        sides: tuple[str, ...] = (),
        status: Status = "open",
        note: str = "",
    ) -> Path:
        """Put a finding on disk and return the path of its bytes. Raises UsageError.

        ``launch`` is the command that showed it (secrets are left out), ``options`` what the gate
        was told, ``sides`` the two of a difference as ``wirefence compare`` spells them.
        """
        metadata = describe(
            finding,
            case,
            versions=versions,
            launch=launch,
            options=options,
            sides=sides,
            status=status,
            note=note,
        )
        return self.put(metadata, case.data)

    def put(self, metadata: Metadata, data: bytes) -> Path:
        """Put bytes and their metadata on disk, in place of what was there. Raises UsageError.

        At any moment the metadata there describes the bytes there: while bytes are replaced, it
        names the hash of the old ones too. A fixed reproducer stays, beside what takes its place.
        """
        path = self.folder / place_of(metadata.finding())
        beside = path.with_suffix(".json")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and beside.exists() and (old := path.read_bytes()) != data:
                if metadata.status != "fixed":
                    self._keep_fixed(beside, old)
                before = hashlib.sha256(old).hexdigest()
                write_whole(beside, encode(replace(metadata, replaces=before)))
            write_whole(path, data)
            write_whole(beside, encode(metadata))
        except OSError as error:
            raise _unwritable(path, error) from error
        return path

    def _keep_fixed(self, beside: Path, data: bytes) -> None:
        """Give a fixed reproducer a place of its own: its bytes are to show nothing for ever."""
        try:
            kept = decode(beside.read_bytes())
        except ValueError:
            return
        if kept.status == "fixed" and kept.holds(data):
            digest = hashlib.sha256(data).hexdigest()
            kept = replace(kept, sha256=digest, size=len(data), replaces="")
            path = self.folder / place_of(kept.finding(), digest)
            write_whole(path, data)
            write_whole(path.with_suffix(".json"), encode(kept))

    def drop(self, path: Path) -> None:
        """Take a finding away, metadata first: what is cut short leaves its bytes to be named."""
        try:
            path.with_suffix(".json").unlink(missing_ok=True)
            for suffix in COMPANIONS:
                path.with_suffix(suffix).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(path, error) from error

    def get(self, path: Path) -> tuple[Metadata, Case]:
        """Read a finding back, checked. Raises UsageError that says what is wrong with it."""
        try:
            metadata = decode(content_of(path.with_suffix(".json")))
            data = content_of(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UsageError(f"cannot read {error.filename}: {reason}", "check the path") from error
        except ValueError as error:
            raise UsageError(
                f"the metadata beside {path} is not readable: {error}", "mend the .json file"
            ) from error
        if not metadata.holds(data):
            raise UsageError(
                f"{path} is not the file that its metadata describes", "restore it with git"
            )
        case = case_from_bytes(
            data,
            protocol=metadata.protocol,
            cuts=list(metadata.cuts),
            direction=metadata.direction,
        )
        return metadata, case


def _unwritable(path: Path, error: OSError) -> UsageError:
    taken = isinstance(error, FileExistsError | NotADirectoryError)
    reason = "a file is in the way" if taken else error.strerror or type(error).__name__
    return UsageError(f"cannot write to {path}: {reason}", "choose another --out")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no text")
    return value


def _offsets(value: object) -> list[int]:
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise TypeError("cuts are whole numbers")
    return value


def case_from_bytes(
    data: bytes,
    *,
    protocol: str = "2025-11-25",
    cuts: list[int] | None = None,
    direction: str = "client-to-server",
) -> Case:
    """Make a case of raw bytes as one side wrote them, a frame for each line. Raises UsageError."""
    version = next((known for known in VERSIONS if known == protocol), None)
    if version is None:
        raise UsageError(f"{protocol!r} is no MCP version", f"use one of {', '.join(VERSIONS)}")
    writer = next((known for known in get_args(Direction) if known == direction), None)
    if writer is None:
        raise UsageError(f"{direction!r} is no direction", "write client-to-server")
    lines = data.split(b"\n")
    frames = [Frame(line + b"\n") for line in lines[:-1]]
    if lines[-1]:
        frames.append(Frame(lines[-1]))
    places = sorted({cut for cut in cuts or [] if 0 < cut < len(data)})
    return Case(tuple(frames), tuple(places), version, writer)


def read_case(path: Path) -> Case:
    """Read a case from a file of raw bytes; metadata beside it gives the rest.

    Raises UsageError for a file or metadata that cannot be read.
    """
    try:
        data = content_of(path) if path.suffix == ".frame" else path.read_bytes()
        beside = path.with_suffix(".json")
        if path.suffix != ".frame" or not beside.exists():
            return case_from_bytes(data)
        content = json.loads(content_of(beside))
        protocol, cuts = _text(content["protocol"]), _offsets(content["cuts"])
        direction = _text(content.get("direction", "client-to-server"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        name = error.filename or path
        raise UsageError(f"cannot read {name}: {reason}", "check the path") from error
    except _DAMAGED as error:
        raise UsageError(
            f"the metadata beside {path} is not readable", "mend or remove the .json file"
        ) from error
    return case_from_bytes(data, protocol=protocol, cuts=cuts, direction=direction)
