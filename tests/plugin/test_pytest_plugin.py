"""The plugin in projects of its users: small ones, made by pytester."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from fuzz.crashes.schema import Status
from fuzz.store import Store
from oracles.records import Finding
from strategies.records import Case, Frame
from targets.command.records import Launch

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = any(each.name == "wirefence" for each in metadata.entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", "fuzz.pytest_plugin")
CALL = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n'
ADAPTER = '''
import json


class Careless:
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


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.syspathinsert(ROOT)
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")
    return pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*LOADED, *words)


def crash(
    folder: Path, target: str, status: Status, signature: str, launch: Launch | None = None
) -> Path:
    found = Finding("agreement", "agree-accept", target, signature, "accepts")
    case = Case((Frame(CALL),))
    return Store(folder / "crashes").save(found, case, versions={}, status=status, launch=launch)


def test_registration_imports_nothing_heavy() -> None:
    code = (
        "import sys, fuzz.pytest_plugin\n"
        "heavy = ('hypothesis', 'orjson', 'pydantic', 'rich', 'click', 'msgspec', 'oracles', "
        "'strategies', 'targets')\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "sys.exit(', '.join(loaded.intersection(heavy)) or 0)\n"
    )
    command = [sys.executable, "-c", f"import pytest\n{code}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_crash_files_pass_or_fail_by_their_status(project: pytest.Pytester) -> None:
    crash(project.path, "gateway/json[strict]", "fixed", "gateway|reply|reply-missing")
    path = crash(project.path, "gateway/json[strict]", "open", "gateway|reply|reply-twice")
    broken = crash(project.path, "gateway/json[strict]", "fixed", "gateway|reply|reply-code")
    broken.with_suffix(".json").write_text("{}")
    result = run(project, "crashes")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines([f"wirefence replay {path}"])
    result.stdout.fnmatch_lines(["*FIXED*open*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_crashes_run_against_the_project_s_own_adapter(project: pytest.Pytester) -> None:
    project.makepyfile(adapter=ADAPTER)
    target = "planted:skips-bad-lines"
    crash(project.path, target, "open", "planted:skips-bad-lines|reply|reply-to-rejected")
    project.syspathinsert(project.path)
    project.makeini("[pytest]\nwirefence_target = adapter:Careless\n")
    run(project, "crashes").assert_outcomes(passed=1)


def test_a_frame_without_metadata_is_not_collected(project: pytest.Pytester) -> None:
    (project.path / "x.frame").write_bytes(CALL)
    assert run(project).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_fixture_finds_what_is_wrong_with_an_adapter(project: pytest.Pytester) -> None:
    project.makepyfile(adapter=ADAPTER)
    project.makepyfile(
        test_it="""
        from adapter import Careless
        from targets.gateway.session import factory

        def test_careless(wirefence):
            wirefence.adapter(Careless, cases=30)

        def test_reference(wirefence):
            wirefence.adapter(factory(), cases=30)
        """
    )
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*adapter:Careless*"])


def test_the_fixture_gates_a_server(project: pytest.Pytester) -> None:
    server = ROOT / "tests" / "gate_startup" / "noisy_server.py"
    project.makepyfile(
        test_it=f"""
        import sys

        def test_noisy(wirefence):
            wirefence.gate(sys.executable, {str(server)!r}, "always", seconds=0.5)
        """
    )
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*out-not-json*"])
