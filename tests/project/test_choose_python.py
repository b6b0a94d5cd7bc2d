"""The Python of set-up: the one given, that of .venv, or the first usable one on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_TOOLS = ("sh", "dirname", "uname", "cat")


class Machine:
    """A checkout's script, and a PATH with the given Pythons and a few system tools."""

    def __init__(self, folder: Path):
        self.root, self.path = folder / "wé ird checkout", folder / "bin"
        (self.root / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "choose-python", self.root / "scripts")
        self.path.mkdir()
        for tool in SYSTEM_TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (self.path / tool).symlink_to(found)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def add_python(self, where: str | Path, version: str, change: str = "") -> Path:
        """Add the Python that runs these tests, as if it were of another version."""
        path = self.path / where
        numbers = tuple(map(int, version.split(".")))
        code = (
            f"import sys; sys.version_info = {numbers}; sys._base_executable = {str(path)!r}; "
            f"{change}\nexec(sys.argv.pop(1))"
        )
        return self.write(path, f'shift\nexec "{sys.executable}" -c "{code}" "$@"')

    def choose(self, *given: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / "scripts" / "choose-python", *given],
            env={"PATH": str(self.path), **variables},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    def chosen(self, *given: str, **variables: str) -> str:
        ended = self.choose(*given, **variables)
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout.rstrip("\n")

    def refused(self, *given: str) -> str:
        ended = self.choose(*given)
        assert (ended.returncode, ended.stdout) == (2, "")
        return ended.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_python3_is_taken_where_it_is_usable(machine):
    expected = machine.add_python("python3", "3.11.2")
    machine.add_python("python3.13", "3.13.0")
    assert machine.chosen() == str(expected)


@pytest.mark.parametrize("version", ["2.7.18", "3.6.15", "3.10.13", "3.15.0"])
def test_a_python3_that_is_too_old_or_untested_gives_way_to_another(machine, version):
    machine.add_python("python3", version)
    expected = machine.add_python("python3.12", "3.12.1")
    assert machine.chosen() == str(expected)


def test_a_python_that_does_not_start_gives_way_to_another(machine):
    machine.write(machine.path / "python3", "echo 'python3: command not found' >&2; exit 127")
    machine.write(machine.path / "python3.13", "kill -SEGV $$")
    expected = machine.add_python("python3.11", "3.11.9")
    assert machine.chosen() == str(expected)


@pytest.mark.parametrize(
    "change",
    [
        "sys.modules['venv'] = None",
        "sys.modules['ensurepip'] = None",
        "import ensurepip; ensurepip.version = None",  # its wheel of pip is missing
    ],
)
def test_a_python_without_venv_gives_way_to_another(machine, change):
    machine.add_python("python3", "3.11.2", change)
    expected = machine.add_python("python3.14", "3.14.1")
    assert machine.chosen() == str(expected)


def test_the_newest_with_every_parser_is_taken_before_the_newest(machine):
    for minor in (11, 12, 13, 14):
        machine.add_python(f"python3.{minor}", f"3.{minor}.1")
    assert machine.chosen() == str(machine.path / "python3.13")


def test_the_python_of_the_environment_stays(machine):
    machine.add_python("python3", "3.11.2")
    expected = machine.add_python(machine.root / ".venv/bin/python", "3.12.1")
    assert machine.chosen() == str(expected)


def test_an_environment_whose_python_is_gone_is_ignored(machine):
    expected = machine.add_python("python3", "3.11.2")
    (machine.root / ".venv/bin").mkdir(parents=True)
    (machine.root / ".venv/bin/python").symlink_to("gone")
    assert machine.chosen() == str(expected)


def test_the_python_that_is_given_comes_first_even_if_it_is_not_tested(machine):
    machine.add_python("python3", "3.11.2")
    machine.add_python(machine.root / ".venv/bin/python", "3.12.1")
    expected = machine.add_python("python3.99", "3.99.0")
    assert machine.chosen("python3.99") == str(expected)
    assert machine.chosen(str(expected)) == str(expected)


@pytest.mark.parametrize(
    ("version", "change", "reason"),
    [
        ("3.9.2", "", "Python 3.9.2, older than 3.11"),
        ("3.11.2", "sys.modules['ensurepip'] = None", "Python 3.11.2, without the venv module"),
        ("3.11.2", "sys.implementation.name = 'pypy'", "Python 3.11.2, not CPython"),
        ("3.11.2", "sys.exit(9)", "does not start"),
    ],
)
def test_a_given_python_that_is_not_usable_is_refused_with_the_reason(
    machine, version, change, reason
):
    machine.add_python("python3", "3.11.2")
    machine.add_python("mine", version, change)
    said = machine.refused("mine")
    assert said.startswith(f"Wirefence cannot use 'mine': {reason}")
    assert said.count("\n") == 1


def test_a_given_python_that_does_not_exist_is_refused(machine):
    assert "'nope': not found" in machine.refused("nope")


def test_without_a_usable_python_each_one_is_named_with_its_reason(machine):
    machine.add_python("python3", "3.9.2")
    machine.write(machine.path / "python3.12", "exit 127")
    said = machine.refused()
    assert "  python3: Python 3.9.2, older than 3.11\n  python3.12: does not start\n" in said
    assert "python3.13: " not in said


def test_without_any_python_one_sentence_says_what_is_needed(machine):
    said = machine.refused()
    assert said.startswith("Wirefence needs Python 3.11 to 3.14 with the venv module, and none is")


@pytest.mark.parametrize("system", ["Darwin", "MINGW64_NT-10.0", "FreeBSD"])
def test_another_system_than_linux_is_refused_by_its_name(machine, system):
    machine.add_python("python3", "3.12.1")
    machine.write(machine.path / "uname", f"echo {system}")
    assert machine.refused().startswith(f"Wirefence runs on Linux only, and this is {system}.")


def test_non_ascii_paths_survive_the_c_locale(machine):
    expected = machine.add_python(machine.root / ".venv/bin/python", "3.12.1")
    assert machine.chosen(LC_ALL="C") == str(expected)


def test_the_script_knows_the_pythons_that_pyproject_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: 3."
    minors = [int(text.removeprefix(prefix)) for text in project["classifiers"] if prefix in text]
    script = (ROOT / "scripts" / "choose-python").read_text(encoding="utf-8")
    assert f"newest_tested=3.{max(minors)}\n" in script
    assert f"< (3, {min(minors)})" in script
    candidates = script.partition("candidates='")[2].partition("'")[0].split()
    assert sorted(candidates[1:]) == [f"python3.{minor}" for minor in sorted(minors)]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_says_which_python_cannot_be_used_and_sets_nothing_up(machine):
    shutil.copy(ROOT / "Makefile", machine.root)
    ended = subprocess.run(
        ["make", "campaign", "PYTHON=nope"],
        cwd=machine.root,
        env={"PATH": f"{machine.path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    first, second = ended.stderr.splitlines()
    assert first.startswith("Wirefence cannot use 'nope': not found.")
    assert second.startswith("make: ***")
    assert not (machine.root / ".venv").exists()
