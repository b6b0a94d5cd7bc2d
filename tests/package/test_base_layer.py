"""Without extras: the gate, the plugin and the strategies work, and other commands name theirs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Environment, Ran, run_in
from wirefence.fuzz.extras import EXTRAS
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import make_finding
from wirefence.strategies.records import Case, Frame

NOISY = str(ROOT / "tests" / "gate_startup" / "noisy_server.py")
PING = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n'


def wirefence(base: Environment, folder: Path, *words: str) -> Ran:
    return run_in(folder, base.command("wirefence"), *words, stdin=PING.decode())


def put(folder: Path, target: str) -> str:
    """A fixed reproducer of a target that shows nothing for it."""
    found = make_finding("reply", "reply-twice", target, "", "two replies")
    path = Store(folder / "crashes").save_finding(
        found, Case((Frame(PING),)), versions={}, status="fixed"
    )
    return str(path.relative_to(folder))


def test_the_base_has_no_module_of_an_extra(base: Environment, tmp_path: Path) -> None:
    code = "from importlib.util import find_spec\n"
    code += f"print(*filter(find_spec, {(*EXTRAS['coverage'], 'simdjson')}))"
    assert run_in(tmp_path, base.python, "-c", code) == Ran(0, "\n", "")


def test_the_gate_runs(base: Environment, tmp_path: Path) -> None:
    assert wirefence(base, tmp_path, "gate", "--help").code == 0
    words = ("--seconds", "0.3", "--", base.python, NOISY, "always")
    ran = wirefence(base, tmp_path, "gate", *words)
    assert ran.code == 1, ran.err
    assert "transcript out-not-json" in ran.out
    (path,) = (tmp_path / ".wirefence" / "gate").glob("transcript/*.frame")
    again = wirefence(base, tmp_path, "replay", str(path))
    assert (again.code, "STILL FAILING" in again.out) == (0, True), again.out
    assert wirefence(base, tmp_path, "crashes", "show", str(path)).code == 0


def test_the_strategies_work(base: Environment, tmp_path: Path) -> None:
    code = """
from hypothesis import HealthCheck, given, settings
import wirefence.strategies as public

@settings(max_examples=5, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(public.sessions())
def check(case):
    assert case.data

check()
"""
    assert run_in(tmp_path, base.python, "-c", code) == Ran(0, "", "")


def test_the_plugin_works(base: Environment, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(f"""
import pytest, sys
from wirefence.targets.gateway.session import factory


def test_gate(wirefence):
    with pytest.raises(pytest.fail.Exception, match="out-not-json"):
        wirefence.gate(sys.executable, {NOISY!r}, "always", seconds=0.3)


def test_adapter(wirefence):
    wirefence.adapter(factory(), cases=5)
""")
    put(tmp_path, "gateway/json[strict]/close")
    put(tmp_path, "reference/close")
    needing = put(tmp_path, "gateway/orjson[strict]/close")
    ran = run_in(tmp_path, base.python, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "4 passed" in ran.out, ran.out
    assert "1 failed" in ran.out
    assert needing in ran.out
    assert "type: pip install 'wirefence[parsers]'" in ran.out


OWN = ("--target", "reference")


@pytest.mark.parametrize(
    "words",
    [
        ("campaign", "--cases", "2", "--workers", "1", *OWN),
        ("campaign", "--cases", "2", "--workers", "1", "--target", "json"),
        ("explain", "-", *OWN),
        ("compare", "json", "json", "--seconds", "0.1"),
        ("crashes", "list"),
        ("nightly", "--check"),
    ],
)
def test_what_needs_no_extra_works(base: Environment, tmp_path: Path, words: tuple[str]) -> None:
    (tmp_path / "wirefence.toml").write_text("[nightly]\n")
    ran = wirefence(base, tmp_path, *words)
    assert (ran.code, ran.err.count("wirefence: ")) == (0, 0), ran.err


PARSERS = [
    ("campaign", "--cases", "1"),
    ("campaign", "--cases", "1", "--target", "gateway/spec"),
    ("campaign", "--cases", "1", "--target", "orjson[text]"),
    ("explain", "-"),
    ("quirks",),
    ("quirks", "--write"),
    ("nightly",),
    ("replay",),
    ("replay", "CRASH", "--target", "parser:ujson"),
    ("minimize", "CRASH"),
    ("crashes", "add", "CRASH", "--target", "parsers"),
    ("crashes", "add", "--classes"),
    ("crashes", "commit", "--from", "crashes"),
]


def is_one_sentence(ran: Ran, extra: str) -> bool:
    (line,) = ran.err.splitlines()
    hint = f"type: pip install 'wirefence[{extra}]'"
    return line.startswith("wirefence: ") and f"needs the extra '{extra}'" in line and hint in line


@pytest.mark.parametrize("words", PARSERS, ids=" ".join)
def test_a_command_that_judges_parsers_names_its_extra(
    base: Environment, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "wirefence.toml").write_text("[nightly]\nseconds = 1\n")
    if "commit" in words:
        if shutil.which("git") is None:
            pytest.skip("git is not installed")
        run_in(tmp_path, "git", "init", "-q")
    crash = put(tmp_path, "parser:orjson")
    ran = wirefence(base, tmp_path, *(crash if word == "CRASH" else word for word in words))
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert is_one_sentence(ran, "parsers"), ran.err
    assert not (tmp_path / ".wirefence").exists()


def test_fuzzing_by_coverage_names_its_extra(base: Environment, tmp_path: Path) -> None:
    ran = wirefence(base, tmp_path, "fuzz", "fuzz_judge", "--seconds", "1")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_sentence(ran, "coverage"), ran.err
    file = base.packages / "wirefence" / "fuzz" / "fuzz_judge.py"
    ran = run_in(tmp_path, base.python, str(file), "-runs=1")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_sentence(ran, "coverage"), ran.err


def test_a_library_that_is_there_needs_no_extra(full: Environment, tmp_path: Path) -> None:
    words = ("explain", "-", "--target", "orjson", "--format", "json")
    ran = wirefence(full, tmp_path, *words)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["documents"]
