"""The plugin in projects of its users: small ones, made by pytester."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import pytest

from tests.gate_outputs.reports import flaw, report
from wirefence.fuzz.gate.records import Report
from wirefence.fuzz.pytest_support import Replays, Wirefence
from wirefence.fuzz.store.metadata import Status
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case, Frame
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = any(each.name == "wirefence" for each in metadata.entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", "wirefence.fuzz.pytest_plugin")
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
    return Store(folder / "crashes").save_finding(
        found, case, versions={}, status=status, launch=launch
    )


def test_registration_imports_nothing_heavy() -> None:
    code = (
        "import sys, wirefence.fuzz.pytest_plugin\n"
        "heavy = ('hypothesis', 'orjson', 'pydantic', 'rich', 'click', 'msgspec', "
        "'wirefence.oracles', 'wirefence.strategies', 'wirefence.targets')\n"
        "loaded = set(sys.modules)\n"
        "sys.exit(', '.join(loaded.intersection(heavy)) or 0)\n"
    )
    command = [sys.executable, "-c", f"import pytest\n{code}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_crash_files_pass_or_fail_by_their_status(project: pytest.Pytester) -> None:
    crash(project.path, "gateway/json[strict]", "fixed", "gateway|reply-missing:ping|none")
    path = crash(project.path, "gateway/json[strict]", "open", "gateway|reply-twice|none")
    broken = crash(project.path, "gateway/json[strict]", "fixed", "gateway|reply-code|rpc-id:null")
    broken.with_suffix(".json").write_text("{}")
    result = run(project, "crashes")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines([f"wirefence replay {path}"])
    result.stdout.fnmatch_lines(["*FIXED*open*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_crashes_run_against_the_project_s_own_adapter(project: pytest.Pytester) -> None:
    project.makepyfile(adapter=ADAPTER)
    target = "planted:skips-bad-lines"
    crash(
        project.path,
        target,
        "open",
        "planted:skips-bad-lines|reply-to-rejected:late|json-syntax:unclosed",
    )
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
        from wirefence.targets.gateway.session import factory

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


def test_a_command_line_that_is_none_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = crash(tmp_path, "gateway/json[strict]", "open", "gateway|reply-twice|none")
    said = Replays("", 'server --name "a b', 60.0).replay(path)
    assert said == (False, "wirefence_command is no command line (no closing quotation); mend it")


@dataclass
class Gate:
    """Stands in for the gate: gives a report, and notes what was done in which order."""

    report: Report | None = None
    did: list[str] = field(default_factory=list)

    def __call__(self, *_words: object, **_more: object) -> Report:
        self.did.append("gate")
        if self.report is None:
            raise TargetError("the server exited at once")
        return self.report

    def end(self) -> int:
        self.did.append("end")
        return 0


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Report | None], Gate]:
    def make(made: Report | None) -> Gate:
        gate = Gate(made)
        monkeypatch.setattr("wirefence.fuzz.pytest_support.run_gate", gate)
        monkeypatch.setattr("wirefence.fuzz.pytest_support.end_left", gate.end)
        return gate

    return make


TWO_GATES = """
    def test_first(wirefence):
        wirefence.gate("server")

    def test_second(wirefence):
        wirefence.gate("server")
    """


def test_what_interrupts_the_gate_interrupts_pytest(
    project: pytest.Pytester, gated: Callable[[Report | None], Gate]
) -> None:
    gap = "the run was interrupted after 3 s"
    gate = gated(report(flaw(), reason="interrupted", gap=gap))
    project.makepyfile(test_it=TWO_GATES)
    result = project.runpytest_inprocess(*LOADED, no_reraise_ctrlc=True)
    assert (result.ret, gate.did) == (pytest.ExitCode.INTERRUPTED, ["gate", "end"])
    result.stdout.fnmatch_lines([f"*KeyboardInterrupt: {gap}; 1 finding is below *wirefence*"])


def test_a_report_that_is_whole_is_given_back(
    tmp_path: Path, gated: Callable[[Report | None], Gate]
) -> None:
    gate = gated(report())
    assert Wirefence(tmp_path).gate("server").reason == "done"
    assert gate.did == ["gate", "end"]


def test_a_baseline_is_read_before_the_time_is_spent(
    tmp_path: Path, gated: Callable[[Report | None], Gate]
) -> None:
    gate = gated(report())
    with pytest.raises(pytest.fail.Exception, match="there is no baseline"):
        Wirefence(tmp_path).gate("server", baseline=tmp_path / "absent.json")
    assert gate.did == []


def test_what_a_server_left_is_ended_though_the_gate_fails(
    tmp_path: Path, gated: Callable[[Report | None], Gate]
) -> None:
    gate = gated(None)
    with pytest.raises(pytest.fail.Exception, match="the server exited at once"):
        Wirefence(tmp_path).gate("server")
    assert gate.did == ["gate", "end"]


def test_a_command_that_cannot_be_started_shows_no_secret(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        def test_gate(wirefence):
            wirefence.gate("no-such-command", "--api-key", "swordfish", env={"X_TOKEN": "s3cretz"})
        """
    )
    result = project.runpytest_inprocess(*LOADED, "-l", "-vv")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*there is no command 'no-such-command'*"])
    assert not [w for w in ("swordfish", "s3cretz", "Launch(") if w in result.stdout.str()]
