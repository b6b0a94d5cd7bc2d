"""Findings on disk: the bytes as sent, metadata beside them, one pair for each signature.

Each file is written atomically, bytes before metadata. So a metadata file proves that its bytes are
complete.
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
from wirefence.fuzz.paths import is_file, is_folder, path_exists
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.fuzz.store.metadata import (
    MIGRATE,
    Metadata,
    OldFormError,
    Status,
    check_format,
    decode_metadata,
    encode_metadata,
    make_metadata,
)
from wirefence.oracles.records import Finding
from wirefence.strategies.records import VERSIONS, Case, Direction, Frame
from wirefence.targets.command.records import Launch

__all__ = [
    "COMPANIONS",
    "Store",
    "case_from_bytes",
    "locate_finding",
    "read_case",
    "read_regular_file",
]

COMPANIONS = (".transcript", ".stderr")
"""Suffixes of files beside a finding for people to read; they are no part of a reproducer."""

_SLUG = re.compile(r"[^a-z0-9]+")
_DECODE_ERRORS = (ValueError, KeyError, TypeError, RecursionError)


def read_regular_file(path: Path) -> bytes:
    """Return the bytes of a regular file. Raises OSError for others: reading a FIFO blocks."""
    if path_exists(path) and not is_file(path) and not is_folder(path):
        raise OSError(errno.EINVAL, "it is neither file nor folder", str(path))
    return path.read_bytes()


def locate_finding(finding: Finding, beside: str = "") -> str:
    """Return where the bytes of a finding go, below a store: ``<oracle>/<slug>-<hash>.frame``.

    The slug consists of rule, target and deviation. The hash is of the signature, so equal faults
    have one path. With ``beside``, the hash of its bytes, it is the path of a fixed reproducer
    whose fault returned with other bytes.
    """
    digest = hashlib.sha256((finding.signature + beside).encode()).hexdigest()[:12]
    kind = finding.signature.rpartition("|")[2]
    words = (finding.rule, finding.target, "" if kind == finding.rule else kind)
    slug = _SLUG.sub("-", "-".join(words).lower())[:60].strip("-")
    return f"{finding.oracle}/{slug}-{digest}.frame"


@dataclass(frozen=True, slots=True)
class Store:
    """A directory of findings: ``<oracle>/<slug>-<hash>.frame`` and ``.json`` beside each."""

    folder: Path

    def check_writable(self) -> None:
        """Create the folder and try to write there. Raises UsageError if that fails."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            raise _make_write_error(self.folder, error) from error

    def read_signatures(self, *, fixed: bool = True) -> set[str]:
        """Return signatures of all findings, or without ``fixed`` those that are not fixed.

        Raises UsageError for a metadata file that cannot be read; skipping it would lose a finding.
        """
        found = set()
        for path in sorted(self.folder.glob("*/*.json")):
            try:
                content = json.loads(read_regular_file(path))
                check_format(content)
                signature = _require_text(content["signature"])
            except OldFormError as error:
                raise UsageError(f"{path} is of another form", MIGRATE) from error
            except (OSError, *_DECODE_ERRORS) as error:
                raise UsageError(
                    f"{path} is not valid metadata of a finding ({type(error).__name__})",
                    "repair the file or move it out of the folder",
                ) from error
            if fixed or content.get("status") != "fixed":
                found.add(signature)
        return found

    def save_finding(  # noqa: PLR0913 - one for each part of the metadata
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
        """Write a finding to disk and return the path of its bytes. Raises UsageError.

        ``launch`` is the command that showed it (stored without secrets), ``options`` the gate's
        options, ``sides`` the two sides of a difference as ``wirefence compare`` spells them.
        """
        metadata = make_metadata(
            finding,
            case,
            versions=versions,
            launch=launch,
            options=options,
            sides=sides,
            status=status,
            note=note,
        )
        return self.write_reproducer(metadata, case.data)

    def write_reproducer(self, metadata: Metadata, data: bytes) -> Path:
        """Write bytes and metadata, replacing what was there; return the path. Raises UsageError.

        At any moment the metadata describes the bytes: while bytes are replaced, it holds the old
        hash too. A fixed reproducer is moved aside, not replaced.
        """
        path = self.folder / locate_finding(metadata.to_finding())
        beside = path.with_suffix(".json")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and beside.exists() and (old := path.read_bytes()) != data:
                if metadata.status != "fixed":
                    self._move_fixed_aside(beside, old)
                before = hashlib.sha256(old).hexdigest()
                write_atomically(beside, encode_metadata(replace(metadata, replaces=before)))
            write_atomically(path, data)
            write_atomically(beside, encode_metadata(metadata))
        except OSError as error:
            raise _make_write_error(path, error) from error
        return path

    def _move_fixed_aside(self, beside: Path, data: bytes) -> None:
        """Copy a fixed reproducer to a path of its own, because its bytes must never fail again."""
        try:
            kept = decode_metadata(beside.read_bytes())
        except ValueError:
            return
        if kept.status == "fixed" and kept.matches_bytes(data):
            digest = hashlib.sha256(data).hexdigest()
            kept = replace(kept, sha256=digest, size=len(data), replaces="")
            path = self.folder / locate_finding(kept.to_finding(), digest)
            write_atomically(path, data)
            write_atomically(path.with_suffix(".json"), encode_metadata(kept))

    def delete_finding(self, path: Path) -> None:
        """Delete a finding, metadata first: if interrupted, the bytes remain as a problem."""
        try:
            path.with_suffix(".json").unlink(missing_ok=True)
            for suffix in COMPANIONS:
                path.with_suffix(suffix).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _make_write_error(path, error) from error

    def read_finding(self, path: Path) -> tuple[Metadata, Case]:
        """Read a finding and check it. Raises UsageError that names what is wrong."""
        try:
            metadata = decode_metadata(read_regular_file(path.with_suffix(".json")))
            data = read_regular_file(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UsageError(f"cannot read {error.filename}: {reason}", "check the path") from error
        except OldFormError as error:
            raise UsageError(f"{path} is of another form", MIGRATE) from error
        except ValueError as error:
            raise UsageError(
                f"the metadata beside {path} is not valid: {error}", "repair the .json file"
            ) from error
        if not metadata.matches_bytes(data):
            raise UsageError(
                f"{path} does not match the hash in its metadata", "restore it with git"
            )
        case = case_from_bytes(
            data,
            protocol=metadata.protocol,
            cuts=list(metadata.cuts),
            direction=metadata.direction,
        )
        return metadata, case


def _make_write_error(path: Path, error: OSError) -> UsageError:
    taken = isinstance(error, FileExistsError | NotADirectoryError)
    reason = "a file is in the way" if taken else error.strerror or type(error).__name__
    return UsageError(f"cannot write to {path}: {reason}", "choose another --out")


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a string")
    return value


def _require_offsets(value: object) -> list[int]:
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise TypeError("cuts must be a list of integers")
    return value


def case_from_bytes(
    data: bytes,
    *,
    protocol: str = "2025-11-25",
    cuts: list[int] | None = None,
    direction: str = "client-to-server",
) -> Case:
    """Return a case of raw bytes as one side wrote them, one frame for each line. Raises
    UsageError.
    """
    version = next((known for known in VERSIONS if known == protocol), None)
    if version is None:
        raise UsageError(f"{protocol!r} is not an MCP version", f"use one of {', '.join(VERSIONS)}")
    writer = next((known for known in get_args(Direction) if known == direction), None)
    if writer is None:
        raise UsageError(f"{direction!r} is not a direction", "write client-to-server")
    lines = data.split(b"\n")
    frames = [Frame(line + b"\n") for line in lines[:-1]]
    if lines[-1]:
        frames.append(Frame(lines[-1]))
    places = sorted({cut for cut in cuts or [] if 0 < cut < len(data)})
    return Case(tuple(frames), tuple(places), version, writer)


def read_case(path: Path) -> Case:
    """Read a case from a file of raw bytes, with cuts and version from the metadata beside it.

    Raises UsageError for a file or metadata that cannot be read.
    """
    try:
        data = read_regular_file(path) if path.suffix == ".frame" else path.read_bytes()
        beside = path.with_suffix(".json")
        if path.suffix != ".frame" or not beside.exists():
            return case_from_bytes(data)
        content = json.loads(read_regular_file(beside))
        protocol, cuts = _require_text(content["protocol"]), _require_offsets(content["cuts"])
        direction = _require_text(content.get("direction", "client-to-server"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        name = error.filename or path
        raise UsageError(f"cannot read {name}: {reason}", "check the path") from error
    except _DECODE_ERRORS as error:
        raise UsageError(
            f"the metadata beside {path} is not valid", "repair or delete the .json file"
        ) from error
    return case_from_bytes(data, protocol=protocol, cuts=cuts, direction=direction)
