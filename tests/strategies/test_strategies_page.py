"""The examples of docs/strategies.md run in a project that has nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from wirefence import strategies

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"```python\n# (test_\w+\.py)\n(.*?)```", PAGE, flags=re.DOTALL))


MANY_EXAMPLES = """
from hypothesis import settings

settings.register_profile("many", max_examples=1_000, deadline=None)
settings.load_profile("many")
"""


def run_project(folder: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_page_has_its_three_examples() -> None:
    assert list(EXAMPLES) == ["test_parser.py", "test_gateway.py", "test_client.py"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_passes_in_a_fresh_project(tmp_path: Path, name: str) -> None:
    ran = run_project(tmp_path, name, EXAMPLES[name])
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("name", "good", "bad", "shown"),
    [
        ("test_parser.py", "parse_constant=refuse", "parse_constant=float", "('number-nan',)"),
        ("test_gateway.py", "not in (int, str)", "not in (int, str, bool)", "damage=('id-true',)"),
        ("test_client.py", "*lines, self.rest =", "lines =", "message="),
    ],
)
def test_an_example_fails_on_a_fault(
    tmp_path: Path, name: str, good: str, bad: str, shown: str
) -> None:
    assert good in EXAMPLES[name]
    # Some damage is one of a hundred kinds: 100 examples, Hypothesis's default, miss it at times.
    (tmp_path / "conftest.py").write_text(MANY_EXAMPLES)
    ran = run_project(tmp_path, name, EXAMPLES[name].replace(good, bad))
    assert ran.returncode == 1
    assert shown in ran.stdout


def test_the_page_names_every_strategy() -> None:
    for name in strategies.__all__:
        if name[0].islower():
            assert f"`{name}(" in PAGE
