"""Findings on disk: raw bytes as sent, metadata beside them, one pair for each signature.

The key insight: a finding counts only once it is on disk. Each file is written under another name,
synced and renamed, bytes before metadata, so that a metadata file proves its bytes to be whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fuzz.errors import UsageError
from oracles.records import Finding
from strategies.records import VERSIONS, Case, Frame

__all__ = ["Store", "case_from_bytes", "read_case"]

_SLUG = re.compile(r"[^a-z0-9]+")
_DAMAGED = (ValueError, KeyError, TypeError, RecursionError)


def _write(path: Path, content: bytes) -> None:
    """Write a file so that it is either absent or whole, whatever happens meanwhile."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class Store:
    """A directory of findings: ``<oracle>/<rule>-<hash>.frame`` and ``.json`` beside each."""

    folder: Path

    def prepare(self) -> None:
        """Make the folder and try to write there. Raises UsageError where that fails."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def signatures(self) -> set[str]:
        """Signatures of all findings whose metadata is readable.

        Raises UsageError for a metadata file that cannot be read, rather than forget a finding.
        """
        found = set()
        for path in sorted(self.folder.glob("*/*.json")):
            try:
                found.add(_text(json.loads(path.read_bytes())["signature"]))
            except (OSError, *_DAMAGED) as error:
                raise UsageError(
                    f"{path} is not readable as a finding's metadata ({type(error).__name__})",
                    "mend the file or move it out of the folder",
                ) from error
        return found

    def save(self, finding: Finding, case: Case, *, versions: dict[str, str]) -> Path:
        """Put a finding on disk and return the path of its bytes. Raises UsageError."""
        digest = hashlib.sha256(finding.signature.encode()).hexdigest()[:12]
        slug = _SLUG.sub("-", f"{finding.rule}-{finding.target}".lower()).strip("-")[:60]
        path = self.folder / finding.oracle / f"{slug}-{digest}.frame"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, case.data)
            _write(path.with_suffix(".json"), _metadata(finding, case, versions))
        except OSError as error:
            raise _unwritable(path, error) from error
        return path


def _unwritable(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"cannot write to {path}: {reason}", "choose another --out")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no text")
    return value


def _offsets(value: object) -> list[int]:
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise TypeError("cuts are whole numbers")
    return value


def _metadata(finding: Finding, case: Case, versions: dict[str, str]) -> bytes:
    content = {
        "oracle": finding.oracle,
        "rule": finding.rule,
        "signature": finding.signature,
        "summary": finding.summary,
        "target": finding.target,
        "status": "open",
        "first_seen": datetime.now(UTC).date().isoformat(),
        "protocol": case.version,
        "damage": list(case.damages()),
        "cuts": list(case.cuts),
        "size": len(case.data),
        "versions": versions,
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def case_from_bytes(
    data: bytes, *, protocol: str = "2025-11-25", cuts: list[int] | None = None
) -> Case:
    """Make a case of raw stdin bytes; one frame for each line. Raises UsageError."""
    version = next((known for known in VERSIONS if known == protocol), None)
    if version is None:
        raise UsageError(f"{protocol!r} is no MCP version", f"use one of {', '.join(VERSIONS)}")
    lines = data.split(b"\n")
    frames = [Frame(line + b"\n") for line in lines[:-1]]
    if lines[-1]:
        frames.append(Frame(lines[-1]))
    places = sorted({cut for cut in cuts or [] if 0 < cut < len(data)})
    return Case(tuple(frames), tuple(places), version)


def read_case(path: Path) -> Case:
    """Read a case from a file of raw bytes; metadata beside it gives version and cuts.

    Raises UsageError for a file or metadata that cannot be read.
    """
    try:
        data = path.read_bytes()
        beside = path.with_suffix(".json")
        if path.suffix != ".frame" or not beside.exists():
            return case_from_bytes(data)
        content = json.loads(beside.read_bytes())
        protocol, cuts = _text(content["protocol"]), _offsets(content["cuts"])
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot read {path}: {reason}", "check the path") from error
    except _DAMAGED as error:
        raise UsageError(
            f"the metadata beside {path} is not readable", "mend or remove the .json file"
        ) from error
    return case_from_bytes(data, protocol=protocol, cuts=cuts)
