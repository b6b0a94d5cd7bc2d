"""Set-up is done once, again when what it was made from changes, and anew after interruption."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from scripts import bootstrap


class Steps:
    """Stands in for the real commands: remembers them and makes what ``venv`` would make."""

    def __init__(self, environment: bootstrap.Environment, fail_at: str = ""):
        self.environment, self.fail_at, self.seen = environment, fail_at, []

    def __call__(self, command):
        assert self.environment.found() is None, "the stamp stands while the set-up runs"
        step = next(word for word in ("venv", "-r", "-e", "check") if word in command)
        if step == self.fail_at:
            raise bootstrap.SetupError(step)
        self.seen.append(step)
        if step == "venv":
            self.environment.python.parent.mkdir(parents=True, exist_ok=True)
            self.environment.python.touch()


@pytest.fixture
def environment(tmp_path: Path) -> bootstrap.Environment:
    for name in bootstrap.SOURCES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return bootstrap.Environment(tmp_path)


@pytest.fixture
def ready(environment):
    assert bootstrap.ensure(environment, Steps(environment))
    return environment


def test_a_fresh_checkout_gets_everything(environment):
    steps = Steps(environment)
    assert bootstrap.ensure(environment, steps)
    assert steps.seen == ["venv", "-r", "-e", "check"]


def test_the_second_call_runs_nothing(ready):
    steps = Steps(ready)
    assert not bootstrap.ensure(ready, steps)
    assert steps.seen == []


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.txt", "requirements-dev.txt"])
def test_a_changed_source_installs_again_into_the_same_environment(ready, name):
    (ready.root / name).write_text("changed")
    steps = Steps(ready)
    assert bootstrap.ensure(ready, steps)
    assert steps.seen == ["-r", "-e", "check"]


def test_another_python_makes_the_environment_anew(ready, monkeypatch):
    monkeypatch.setattr(bootstrap.sys, "version", "3.99")
    steps = Steps(ready)
    assert bootstrap.ensure(ready, steps)
    assert steps.seen[0] == "venv"


@pytest.mark.parametrize("step", ["venv", "-r", "-e", "check"])
def test_an_interrupted_set_up_is_repaired_from_the_start(ready, step):
    (ready.root / "pyproject.toml").write_text("changed")
    ready.stamp.unlink()
    with pytest.raises(bootstrap.SetupError):
        bootstrap.ensure(ready, Steps(ready, fail_at=step))
    steps = Steps(ready)
    assert bootstrap.ensure(ready, steps)
    assert steps.seen == ["venv", "-r", "-e", "check"]


@pytest.mark.parametrize("text", ["", "one", "one two three", "\xff"])
def test_a_damaged_stamp_counts_as_none(ready, text):
    ready.stamp.write_text(text, encoding="latin-1")
    assert ready.found() is None


def test_a_vanished_interpreter_counts_as_no_environment(ready):
    ready.python.unlink()
    assert ready.found() is None


def test_parallel_calls_set_up_once(environment):
    steps = Steps(environment)
    done: list[bool] = []
    calls = [
        threading.Thread(target=lambda: done.append(bootstrap.ensure(environment, steps)))
        for _ in range(4)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join(timeout=30)
    assert sorted(done) == [False, False, False, True]
    assert steps.seen.count("venv") == 1


def test_a_step_that_fails_or_cannot_start_says_which():
    with pytest.raises(bootstrap.SetupError, match="exit 3"):
        bootstrap.run(["sh", "-c", "exit 3"])
    with pytest.raises(bootstrap.SetupError, match="no-such-program"):
        bootstrap.run(["no-such-program"])
