"""Migrate stored files of the first form: findings, baselines and accepted differences.

In the first form a signature was ``TARGET|ORACLE|RULE|KIND``. A finding is run again on its target,
which gives its signature; where that is not possible, rule and kind are mapped by the bytes alone.
A baseline has no bytes: its entries are mapped by the findings that were migrated with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wirefence.fuzz.crashes.commit import write_index
from wirefence.fuzz.crashes.deviation_guard import list_frame_deviations
from wirefence.fuzz.crashes.rerun import CaseRunners, make_subject
from wirefence.fuzz.errors import StartError, UsageError
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.fuzz.store.metadata import FORMAT, Metadata
from wirefence.fuzz.store.store import Store, case_from_bytes, locate_finding
from wirefence.fuzz.store.typed_records import decode_json, read_record
from wirefence.oracles.records import Finding, rule_of
from wirefence.oracles.traits import TRAITS, find_traits, first_trait
from wirefence.strategies.contract import Profile
from wirefence.strategies.records import Case
from wirefence.targets.errors import TargetError

__all__ = ["migrate_files"]

_TRIALS = 3
"""Runs of a case until it shows its finding: some are unsteady."""
_UNCHANGED = ("smoke", "liveness", "client")
"""Oracles whose findings keep what their signature ended in."""


@dataclass(frozen=True, slots=True)
class _Mapped:
    """A finding with its new signature, and how that was found: ``ran`` or ``by its bytes``."""

    finding: Finding
    how: str


def migrate_files(paths: Iterable[Path], *, patience: float = 60.0) -> Iterator[str]:
    """Migrate folders of findings, then baselines and accepted differences; yield a line for each.

    Raises UsageError for what is none of these or cannot be written.
    """
    some = list(paths)
    signatures: dict[str, str] = {}
    for folder in (each for each in some if each.is_dir()):
        for beside in sorted(folder.glob("*/*.json")):
            yield _migrate_finding(folder, beside, signatures, patience)
        if (folder / "INDEX.md").is_file():
            write_index(folder)
    for path in (each for each in some if not each.is_dir()):
        yield _migrate_list(path, signatures)


def _migrate_finding(
    folder: Path, beside: Path, signatures: dict[str, str], patience: float
) -> str:
    path = beside.with_suffix(".frame")
    try:
        content = decode_json(beside.read_bytes())
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        return f"skipped  {beside}  cannot be read: {error}"
    if not isinstance(content, dict) or content.get("format") == FORMAT:
        return f"kept  {path}  has the new form"
    try:
        old = read_record({**content, "format": FORMAT}, Metadata)
        case = case_from_bytes(
            data, protocol=old.protocol, cuts=list(old.cuts), direction=old.direction
        )
    except (UsageError, ValueError) as error:
        return f"skipped  {path}  is no finding: {error}"
    if not old.matches_bytes(data):
        return f"skipped  {path}  does not match the hash in its metadata"
    mapped = _map_finding(old, case, patience)
    signatures[old.signature] = mapped.finding.signature
    return _store_finding(folder, path, old, data, mapped)


def _store_finding(folder: Path, path: Path, old: Metadata, data: bytes, mapped: _Mapped) -> str:
    found, store = mapped.finding, Store(folder)
    new = replace(
        old,
        rule=found.rule,
        signature=found.signature,
        summary=found.summary or old.summary,
        replaces="",
    )
    place = folder / locate_finding(found)
    taken = place != path and _has_new_form(place)
    if taken and simplicity_key(place.read_bytes()) <= simplicity_key(data):
        store.delete_finding(path)
        return f"merged  {path}  shows the finding of {place}"
    store.write_reproducer(new, data)
    if path != place:
        store.delete_finding(path)
    return f"migrated  {path}  {found.signature}  ({mapped.how})"


def _has_new_form(path: Path) -> bool:
    try:
        content = decode_json(path.with_suffix(".json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def _map_finding(old: Metadata, case: Case, patience: float) -> _Mapped:
    """Return a finding with its new signature. A fixed one shows nothing, so it is not run."""
    if old.status != "fixed" and (found := _run_again(old, case, patience)):
        return _Mapped(found, "run again")
    return _Mapped(_map_by_bytes(old, case), "mapped by its bytes")


def _run_again(old: Metadata, case: Case, patience: float) -> Finding | None:
    """Return the finding of the same oracle and rule that the target shows now."""
    rule = _rule_of_kind(old)
    try:
        with CaseRunners(make_subject(old), patience=patience) as runners:
            for _ in range(_TRIALS):
                (seen,) = runners.run_cases([case])
                alike = [f for f in seen if (f.oracle, f.rule) == (old.oracle, old.rule)]
                alike.sort(key=lambda found: found.deviation.partition(":")[0] != rule)
                if alike:
                    return alike[0]
    except (UsageError, TargetError, StartError, RuntimeError):
        return None
    return None


def _rule_of_kind(old: Metadata) -> str:
    """Return the rule in the last part of an old signature: ``json-syntax trailing comma``."""
    return old.signature.rpartition("|")[2].partition(" ")[0]


def _map_by_bytes(old: Metadata, case: Case) -> Finding:
    """Return the finding with the deviation that its bytes have."""
    effect, deviation = old.rule, old.signature.rpartition("|")[2]
    if old.oracle == "compare":
        errors, _, _ = deviation.rpartition(": ")
        effect, deviation = f"{old.rule}:{errors}", first_trait(find_traits(case.data))
    elif old.oracle == "agreement":
        if len(old.signature.split("|")) == 3:  # it had the new form before the others
            effect = old.signature.split("|")[1]
        else:
            deviation = first_trait(find_traits(case.data))
    elif old.oracle not in _UNCHANGED:
        deviation = _choose_deviation(old, case)
    head = old.target if old.oracle in ("agreement", "compare") else old.target.partition("/")[0]
    return Finding(old.oracle, old.rule, old.target, f"{head}|{effect}|{deviation}", old.summary)


def _choose_deviation(old: Metadata, case: Case) -> str:
    """Return the deviation of the rule that an old signature names, else the only one."""
    spec = old.target.endswith("/spec") or old.options.get("profile") == "spec"
    profile: Profile = "spec" if spec else "strict"
    found = list_frame_deviations(case, profile)
    wanted = [each for each in found if each.partition(":")[0] == _rule_of_kind(old)]
    return next(iter(wanted), found[0] if len(found) == 1 else "none")


def _migrate_list(path: Path, signatures: Mapping[str, str]) -> str:
    try:
        content: Any = decode_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "check the path") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON", "name a folder, a baseline or a list") from error
    if isinstance(content, dict) and content.get("wirefence-baseline") == 1:
        return _migrate_baseline(path, content, signatures)
    if isinstance(content, dict) and "accepted" in content and "format" not in content:
        return _migrate_accepted(path, content)
    if isinstance(content, dict) and {"wirefence-baseline", "accepted"} & content.keys():
        return f"kept  {path}  has the new form"
    raise UsageError(
        f"{path} is neither a baseline nor a list of accepted differences",
        "name a folder of findings, a baseline, or a file of --accept",
    )


def _migrate_baseline(path: Path, content: dict[str, Any], signatures: Mapping[str, str]) -> str:
    """Rewrite a baseline; entries without a migrated finding stay as ``unmapped``."""
    expected: dict[str, dict[str, Any]] = {}
    unmapped = []
    for entry in content["expected"]:
        if new := signatures.get(entry["signature"]):
            expected.setdefault(new, {**entry, "signature": new, "rule": rule_of(new)})
        else:
            unmapped.append(entry)
    made = {**content, "wirefence-baseline": 2, "expected": list(expected.values())}
    _write_json(path, {**made, "unmapped": unmapped} if unmapped else made)
    return _tell_list(path, len(expected), len(unmapped))


def _migrate_accepted(path: Path, content: dict[str, Any]) -> str:
    """Rewrite accepted differences; classes of traits that are no more stay as ``unmapped``."""
    rows = content["accepted"]
    known = [row for row in rows if row["class"].partition(": ")[0] in ("any", *TRAITS)]
    unmapped = [row for row in rows if row not in known]
    made: dict[str, Any] = {"format": 2, "accepted": known}
    _write_json(path, {**made, "unmapped": unmapped} if unmapped else made)
    return _tell_list(path, len(known), len(unmapped))


def _tell_list(path: Path, mapped: int, unmapped: int) -> str:
    left = f", {unmapped} kept as unmapped: see them again, and accept them anew" * bool(unmapped)
    return f"migrated  {path}  {mapped} entries{left}"


def _write_json(path: Path, content: object) -> None:
    try:
        write_atomically(path, json.dumps(content, indent=1).encode() + b"\n")
    except OSError as error:
        raise UsageError(
            f"cannot write to {path}: {error.strerror}", "check its permissions"
        ) from error
