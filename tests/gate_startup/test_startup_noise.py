"""Each cause of noise is found on a server that has it alone, and by no other cause."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wirefence.fuzz.gate.records import Facts, Options
from wirefence.fuzz.gate.server.startup import (
    StartupFinding,
    StartupRunner,
    startup_findings,
    variant_of,
)
from wirefence.fuzz.gate.trials.startup_variants import (
    TOGETHER,
    VARIANTS,
    StartupVariant,
    find_variant,
)
from wirefence.targets.command.records import Launch

SERVER = Path(__file__).with_name("noisy_server.py")
FACTS = Facts(
    "noisy", "noisy", "1", "2025-11-25", ("2025-11-25",), (), None, None,
    policy="continue", startup=0.1, peak_bytes=0,
)  # fmt: skip
OPTIONS = Options(patience=10.0)
BY_NAME = {cause.name: cause for cause in VARIANTS}
OTHER = BY_NAME["term-odd"]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cron job has no TERM, so a server that needs it is noisy at each start."""
    monkeypatch.setenv("TERM", "xterm")


def findings(
    fault: str, *causes: StartupVariant, options: Options = OPTIONS, cwd: Path | None = None
) -> list[StartupFinding]:
    launch = Launch((sys.executable, str(SERVER), fault), {}, cwd)
    return list(startup_findings(launch, FACTS, options, causes or VARIANTS))


@pytest.mark.parametrize("name", [cause.name for cause in VARIANTS])
def test_each_cause_finds_the_server_that_has_it(name: str) -> None:
    other = OTHER if name != "term-odd" else BY_NAME["verbose"]
    found = findings(name, BY_NAME[name], other)
    assert [each.finding.signature for each in found] == [f"noisy|out-not-json|startup-{name}"]
    assert variant_of(found[0].finding) == BY_NAME[name]
    assert found[0].finding.offending in found[0].run.stdout
    assert found[0].finding.offending


def test_a_silent_strict_server_has_no_findings() -> None:
    assert findings("") == []


def test_what_a_plain_start_prints_is_not_charged_to_a_cause() -> None:
    assert findings("always", OTHER, BY_NAME["eof-at-once"]) == []


def test_whole_lines_that_a_server_logs_to_stderr_are_not_held_against_it() -> None:
    assert findings("logs", BY_NAME["stderr-merged"]) == []


def test_stdout_is_judged_though_the_exit_code_is_not_zero() -> None:
    [found] = findings("no-configuration", BY_NAME["no-configuration"])
    assert found.run.status == "exit code 3"


def test_a_line_that_is_torn_at_the_end_is_found() -> None:
    [found] = findings("torn", OTHER)
    assert found.finding.signature == "noisy|out-unterminated|startup-term-odd"
    assert found.finding.offending == b'{"jsonrpc":'


def test_a_cause_that_silences_the_server_is_found() -> None:
    # It answers initialize, which a start has all the time for, and is silent from then on.
    [found] = findings("mute-when-odd", OTHER, options=Options(patience=1.0))
    assert found.finding.signature == "noisy|reply-missing|startup-term-odd"


def test_stopping_early_leaves_nothing_behind() -> None:
    launch = Launch((sys.executable, str(SERVER), "verbose"))
    found = startup_findings(launch, FACTS, OPTIONS, VARIANTS)
    assert next(found).finding.rule == "out-not-json"
    found.close()


def test_an_empty_working_directory_still_finds_relative_files(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("x")
    (tmp_path / "x").mkdir()
    launch = Launch(("python3", "server.py", "-m", "x", "", "@scope/pkg", "./x"), {}, tmp_path)
    changed = BY_NAME["no-configuration"].change(launch)
    server, folder = str(tmp_path / "server.py"), str(tmp_path / "x")
    assert changed.argv[4:] == ("python3", server, "-m", "x", "", "@scope/pkg", folder)


def test_a_changed_command_shows_its_noise_by_hand() -> None:
    [found] = findings("no-configuration", BY_NAME["no-configuration"])
    env = {**os.environ, **{n: v for n, v in found.run.launch.env.items() if v}}
    done = subprocess.run(
        found.run.launch.argv, input=b"", capture_output=True, env=env, check=False
    )
    assert (done.returncode, done.stdout) == (3, b"no configuration found, using defaults\n")


def test_a_launcher_that_fetches_its_server_keeps_its_home() -> None:
    for name in ("no-configuration", "recoverable-failure"):
        changed = BY_NAME[name].change(Launch(("npx", "-y", "x")))
        assert "HOME" not in changed.env
        assert not any("HOME" in word for word in changed.argv)


def shared(fault: str) -> list[str]:
    starts = StartupRunner(Launch((sys.executable, str(SERVER), fault)), FACTS, OPTIONS, ahead=2)
    starts.start_ahead([TOGETHER, OTHER])
    found = starts.judge_variant(TOGETHER)
    starts.close()
    return [each.finding.signature for each in found]


def test_a_start_that_causes_share_finds_each_of_them_by_its_own_name() -> None:
    assert len(TOGETHER.parts) == 9
    assert shared("verbose-jvm") == ["noisy|out-not-json|startup-verbose-jvm"]
    assert shared("term-odd") == []


def test_noise_that_needs_two_causes_is_charged_to_the_start_that_they_share() -> None:
    assert shared("verbose-and-warned") == ["noisy|out-not-json|startup-talkative"]
    assert find_variant("talkative") == TOGETHER


def test_causes_that_share_a_start_set_no_variable_to_different_values() -> None:
    values: dict[str, set[str | None]] = {}
    for cause in TOGETHER.parts:
        for name, value in cause.change(Launch(("x",))).env.items():
            values.setdefault(name, set()).add(value)
    assert {name for name, each in values.items() if len(each) > 1} == set()
    assert TOGETHER.change(Launch(("x",))).env.keys() == values.keys()


def test_starts_that_are_expected_begin_before_their_turn() -> None:
    starts = StartupRunner(Launch((sys.executable, str(SERVER))), FACTS, OPTIONS, ahead=2)
    starts.start_ahead([TOGETHER, BY_NAME["eof-at-once"], OTHER])
    begun = list(starts._begun.values())
    assert len(begun) == 2
    assert starts.judge_variant(TOGETHER) == []
    assert set(starts._begun) == {"eof-at-once", "term-odd"}
    starts.close()
    assert all(session.process.exit for session in begun)


def test_causes_are_told_apart_by_name_and_text() -> None:
    assert len(BY_NAME) == len(VARIANTS) == len({cause.about for cause in VARIANTS})
    assert (find_variant("term-odd"), find_variant("none")) == (OTHER, None)
