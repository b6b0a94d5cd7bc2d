"""The mutants of the reference gateway: what is changed, what is found, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.mutants import choose_mutants, list_mutants, read_sources

ROOT = Path(__file__).resolve().parents[2]
CASES = 64


def run(*arguments: str, setup: str = "") -> subprocess.CompletedProcess[str]:
    """Run the script in an interpreter of its own: it forks, and replaces modules."""
    words = ["--cases", str(CASES), *arguments]
    code = f"import sys; from scripts import mutants; {setup}\n"
    code += f"sys.exit(mutants.command({words!r}, standalone_mode=False))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def place_of(module: str, text: str) -> str:
    """The file and line of some text of the gateway, as the script names it."""
    lines = read_sources()[module].splitlines()
    return f"{module}.py:{next(n for n, line in enumerate(lines, 1) if text in line)}"


def changes(text: str) -> list[str]:
    return [each.change for each in list_mutants({"module": text})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == b", ["a == b  ->  a != b"]),
        ("a < b", ["a < b  ->  a <= b", "a < b  ->  a >= b"]),
        ("a and b", ["a and b  ->  a or b"]),
        ("not a", ["not a  ->  a"]),
        ("if a: pass", ["if a  ->  if not (a)"]),
        ("if a == b: pass", ["a == b  ->  a != b"]),
        ("x = 7", ["7  ->  8", "7  ->  6"]),
        ("x = True", ["True  ->  False"]),
        ("x = 'ab'", ["'ab'  ->  'ac'"]),
        ("def f(): return g()", ["return g()  ->  return None"]),
        ("def f(): return None", []),
    ],
)
def test_each_kind_of_place_is_changed(text: str, expected: list[str]) -> None:
    assert changes(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring."""',
        '__all__ = ["a"]',
        "x: Literal[1]",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "@lru_cache(maxsize=64)\ndef f(): ...",
        'raise RejectedError("rpc-id")',
        'self._break("json-depth")',
        'self.journal.reject("frame-unterminated", rest)',
    ],
)
def test_what_no_answer_depends_on_is_left_alone(text: str) -> None:
    assert not changes(text)


def test_a_seed_gives_one_order_of_all_mutants() -> None:
    every = list_mutants(read_sources())
    assert choose_mutants(every, 3) == choose_mutants(every, 3) != choose_mutants(every, 4)
    assert sorted(choose_mutants(every, 3), key=every.index) == every


def test_a_planted_fault_is_found_and_an_equivalent_one_missed() -> None:
    fault = place_of("authorization", "tool.operator_only and not operator")
    offset = place_of("framing", "self._offset += len(self._buffer) + 1")
    done = run("--place", fault, "--place", offset)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len([line for line in lines if line.startswith(fault)]) == 3
    assert all(": found in case " in line for line in lines if line.startswith(fault))
    assert all(line.endswith(": missed") for line in lines if line.startswith(offset))


def test_an_unchanged_gateway_that_shows_something_is_refused() -> None:
    faulty = (
        "sources = mutants.read_sources(); "
        "sources['verdicts'] = sources['verdicts'].replace('-32601', '-32600'); "
        "mutants.read_sources = lambda: sources"
    )
    done = run(setup=faulty)
    assert done.returncode == 2
    assert not done.stdout
    assert "the unchanged gateway shows" in done.stderr
    assert len(done.stderr.splitlines()) == 1
