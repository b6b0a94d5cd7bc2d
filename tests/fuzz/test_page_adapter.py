"""The adapter of the page for gateway authors is complete and short, and its faults are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wirefence.fuzz.examination.cases import generate_block
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import both_policies
from wirefence.targets.harness import load_factory

PAGE = Path(__file__).resolve().parents[2] / "docs/gateway-authors.md"


def test_the_adapter_of_the_page_runs_and_its_faults_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = re.search(r"```python\n# adapter.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    code = found[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    (tmp_path / "page_adapter.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    targets = both_policies("adapter", load_factory("page_adapter:Adapter"))
    examiner = Examiner((), [targets])
    rules = {each.rule for case in generate_block(0, 0) for each in examiner.examine_case(case)}
    assert {"act-rejected", "live-crash"} <= rules
