"""The adapter that README shows is complete, short, and found out by a small campaign."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wirefence.fuzz.examination.cases import block
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import both_policies
from wirefence.targets.harness import load_factory

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_adapter_of_the_readme_runs_and_its_fault_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = re.search(r"```python\n# adapter.py\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    code = found[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    (tmp_path / "readme_adapter.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    targets = both_policies("adapter", load_factory("readme_adapter:Adapter"))
    examiner = Examiner((), [targets])
    rules = {each.rule for case in block(0, 0) for each in examiner.examine(case)}
    assert {"act-rejected", "live-crash"} <= rules
