"""Stored files of the first form are refused in a sentence that says how to rewrite them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wirefence.fuzz.compare.accept import read_accepted
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.report.baseline import load_baseline
from wirefence.fuzz.store.scan import scan_folder
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import make_finding

SAYS = "of another form; rewrite it with wirefence crashes migrate .* CHANGELOG.md"


@pytest.fixture
def finding(tmp_path: Path) -> Path:
    """A stored finding as the first form was: without a version."""
    found = make_finding("reply", "reply-code", "x", "rpc-id:null", "s")
    path = Store(tmp_path / "crashes").save_finding(found, case_from_bytes(b"1\n"), versions={})
    beside = path.with_suffix(".json")
    content = json.loads(beside.read_bytes())
    assert content.pop("format") == 2
    beside.write_text(json.dumps(content))
    return path


def test_a_finding_is_refused_by_each_reader(finding: Path):
    store = Store(finding.parent.parent)
    for read in (lambda: store.read_finding(finding), store.read_signatures):
        with pytest.raises(UsageError, match=SAYS):
            read()
    (problem,) = scan_folder(store.folder).problems
    assert "wirefence crashes migrate" in problem.what


@pytest.mark.parametrize("version", [1, 3, "2", None])
def test_another_version_is_refused_too(finding: Path, version: object):
    beside = finding.with_suffix(".json")
    beside.write_text(json.dumps({**json.loads(beside.read_bytes()), "format": version}))
    with pytest.raises(UsageError, match=SAYS):
        Store(finding.parent.parent).read_finding(finding)


def test_a_baseline_is_refused(tmp_path: Path):
    (tmp_path / "b.json").write_text('{"wirefence-baseline": 1, "expected": []}')
    with pytest.raises(UsageError, match=SAYS):
        load_baseline(tmp_path / "b.json")


def test_accepted_differences_are_refused(tmp_path: Path):
    (tmp_path / "a.json").write_text('{"accepted": []}')
    with pytest.raises(UsageError, match=SAYS):
        read_accepted(tmp_path / "a.json")
