"""CI tests each Python that it finds, goes on after a failure, and ends with a line for each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / ".ci"
SYSTEM = "/usr/bin:/bin"
OTHERS = "3.12.4\t/other/python3\n"
OWN = "3.13.1\t/own/python3\n"


def command(path: Path, *lines: str) -> None:
    """Write a shell script in place of a command."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended, what it printed, and the arguments of each ``make``."""

    code: int
    said: str
    made: str

    @property
    def steps(self) -> list[tuple[str, str]]:
        """What was made, and with which Python."""
        return re.findall(r"^(?:-C \S+ )?--no-print-directory (\w+) PYTHON=(\S+)", self.made, re.M)

    @property
    def results(self) -> list[str]:
        """The closing lines, without their seconds."""
        lines = [line for line in self.said.splitlines() if line.startswith("== Python 3")]
        return [re.sub(r" \(\d+ s\)$", "", line) for line in lines]


@pytest.fixture
def run(tmp_path: Path):
    """Run CI in a checkout where ``make``, and all that CI might install, is a stand-in."""
    checkout, commands = tmp_path / "checkout", tmp_path / "commands"
    for name in ("clang", "llvm-symbolizer", "npm", "apt-get"):
        command(commands / name)
    command(commands / "git", 'for clone; do :; done; mkdir "$clone"')
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(CI / "run", checkout / ".ci")

    def made(found: str, *, own: str = "3.13.1", fails: str = "nothing") -> Ran:
        command(checkout / ".ci" / "pythons", f"printf '{found}'")
        command(
            commands / "make",
            'echo "$@" >>made',
            f'case "$*" in *{fails}*) exit 2;; esac',
        )
        command(
            commands / "python3",
            f'case "$*" in *Python.h*) echo "$0";; *python_version*) echo {own};; esac',
        )
        (checkout / "made").unlink(missing_ok=True)
        env = {"PATH": f"{commands}:{SYSTEM}", "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [checkout / ".ci" / "run"], env=env, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        return Ran(done.returncode, done.stdout, (checkout / "made").read_text())

    return made


def test_each_python_has_a_campaign_in_a_clone_and_one_has_all_tests(run):
    ran = run(OWN + "3.14.0\t/new/python3\n" + OTHERS)
    assert ran.code == 0
    assert ran.steps == [
        ("campaign", "/new/python3"),
        ("pytest", "/new/python3"),
        ("campaign", "/other/python3"),
        ("pytest", "/other/python3"),
        ("campaign", "/own/python3"),
        ("test", "/own/python3"),
    ]
    assert re.findall(r"^-C \S+/(\S+) .* SECONDS=20$", ran.made, re.M) == [
        *("3.14.0", "3.12.4", "3.13.1"),
    ]
    assert ran.results == [
        "== Python 3.14.0: campaign passed, tests passed",
        "== Python 3.12.4: campaign passed, tests passed",
        "== Python 3.13.1: campaign passed, all tests passed",
        "== Python 3.11: not found",
    ]
    assert ran.said.rstrip().endswith(ran.results[-1])


@pytest.mark.parametrize(
    ("fails", "result"),
    [
        ("campaign?PYTHON=/other", "campaign FAILED (exit 2), tests passed"),
        ("pytest?PYTHON=/other", "campaign passed, tests FAILED (exit 2)"),
    ],
)
def test_a_failure_stops_nothing_and_is_the_exit_code(run, fails, result):
    ran = run(OTHERS + OWN, fails=fails)
    assert ran.code == 1
    assert ran.results == [
        f"== Python 3.12.4: {result}",
        "== Python 3.13.1: campaign passed, all tests passed",
        "== Python 3.11: not found",
        "== Python 3.14: not found",
    ]


def test_a_failure_of_all_tests_is_the_exit_code(run):
    ran = run(OTHERS + OWN, fails="test?PYTHON=/own")
    assert ran.code == 1
    assert "== Python 3.13.1: campaign passed, all tests FAILED (exit 2)" in ran.results


def test_the_newest_has_all_tests_where_the_machines_own_is_not_supported(run):
    ran = run(OTHERS + "3.14.0\t/new/python3\n", own="3.9.2")
    assert ran.results[1] == "== Python 3.14.0: campaign passed, all tests passed"


def test_the_tests_of_each_python_are_there_and_those_of_the_workflow():
    (tests,) = re.findall('^TESTS="(.+)"$', (CI / "run").read_text(), re.M)
    assert [name for name in tests.split() if not (ROOT / name).is_dir()] == []
    assert tests in (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def python(path: Path, version: str) -> None:
    command(path, f'printf "{version}\\t$0\\n"')


def test_pythons_of_path_and_of_pyenv_are_found_once_each(tmp_path: Path):
    on_path, versions = tmp_path / "bin", tmp_path / "pyenv" / "versions"
    home = tmp_path / "home" / ".pyenv"
    python(on_path / "python3.12", "3.12.99")
    command(on_path / "python3.13", "exit 127")  # of pyenv, for a version that is not chosen
    python(versions / "3.11.98" / "bin" / "python3", "3.11.98")
    python(versions / "3.12.99" / "bin" / "python3", "3.12.99")
    python(versions / "3.9.1" / "bin" / "python3", "3.9.1")
    python(home / "versions" / "3.14.97" / "bin" / "python3", "3.14.97")
    env = {
        "PATH": f"{on_path}:{SYSTEM}",
        "PYENV_ROOT": str(tmp_path / "pyenv"),
        "HOME": str(tmp_path / "home"),
    }
    said = subprocess.run([CI / "pythons"], env=env, capture_output=True, text=True, check=True)
    found = [line.split("\t") for line in said.stdout.splitlines() if str(tmp_path) in line]
    assert [(version, os.path.relpath(path, tmp_path)) for version, path in found] == [
        ("3.11.98", "pyenv/versions/3.11.98/bin/python3"),
        ("3.12.99", "bin/python3.12"),
        ("3.14.97", os.path.relpath(home / "versions/3.14.97/bin/python3", tmp_path)),
    ]


def test_what_a_python_says_of_itself_decides(tmp_path: Path):
    """The real question, put to the Python of these tests under a name of the distribution."""
    (tmp_path / "python3").symlink_to(os.path.realpath(sys.executable))
    env = {"PATH": f"{tmp_path}:{SYSTEM}", "HOME": str(tmp_path)}
    said = subprocess.run([CI / "pythons"], env=env, capture_output=True, text=True, check=True)
    versions = [line.partition("\t")[0] for line in said.stdout.splitlines()]
    assert sys.version.split()[0] in versions
    assert all("3.11" <= each[:4] <= "3.14" for each in versions)
