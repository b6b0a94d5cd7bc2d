"""A project with packages of its own named as our folders works beside an installed Wirefence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.package.conftest import Environment, Ran, run_in

ADAPTER = '''
import json

import fuzz, oracles, strategies, targets


class Adapter:
    """Acts on any line that reads as JSON."""

    def __init__(self, act, contract):
        self.act, self.rest = act, b""

    def feed(self, data):
        *lines, self.rest = (self.rest + data).split(b"\\n")
        for line in lines:
            try:
                message = json.loads(line)
                self.act(message["params"]["name"], message["params"]["arguments"])
            except Exception:
                pass
        return b""

    def eof(self):
        return b""
'''
TESTS = """
import fuzz, oracles, strategies, targets
from wirefence.targets.gateway.session import factory


def test_the_packages_are_ours():
    assert {each.OWNER for each in (fuzz, oracles, strategies, targets)} == {"this project"}


def test_the_fixture_takes_an_adapter(wirefence):
    wirefence.adapter(factory(), cases=5)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("fuzz", "oracles", "strategies", "targets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OWNER = 'this project'\n")
    (tmp_path / "adapter.py").write_text(ADAPTER)
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


@pytest.mark.parametrize("way", ["pytest", "python -m pytest"])
def test_pytest_runs_with_the_plugin(full: Environment, project: Path, way: str) -> None:
    start = [full.command("pytest")] if way == "pytest" else [full.python, "-m", "pytest"]
    ran = run_in(project, *start, "-p", "no:cacheprovider", "-q")
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert "2 passed" in ran.out


def wirefence(full: Environment, project: Path, *words: str) -> Ran:
    return run_in(project, full.command("wirefence"), *words, variables={"PYTHONPATH": "."})


def test_the_command_line_starts_with_the_project_on_the_path(
    full: Environment, project: Path
) -> None:
    ran = wirefence(full, project, "--version")
    assert (ran.code, ran.err) == (0, "")


def test_an_adapter_of_the_project_is_a_target(full: Environment, project: Path) -> None:
    words = ("--target", "adapter:Adapter", "--cases", "5", "--workers", "1")
    ran = wirefence(full, project, "campaign", *words)
    assert ran.code == 1, ran.err
    assert "act-rejected in adapter:Adapter/close" in ran.out
