"""Set-up is done once, again when what it was made from changes, and anew after interruption.

Most tests give stand-ins for the commands; `test_bootstrap_steps.py` runs real ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from scripts import bootstrap
from scripts.bootstrap import Result

ALL_STEPS = ["venv", "-r", "atheris==1", "pysimdjson==2", "-e", "check"]


class Steps:
    """Stands in for the real commands: remembers them and makes what they would make."""

    def __init__(self, environment: bootstrap.Environment, fail_at: str = "", lines=("no", "way")):
        self.environment, self.fail_at, self.lines, self.seen = environment, fail_at, lines, []

    def __call__(self, step):
        assert self.environment.found() is None, "the stamp is there while the set-up runs"
        name = next(word for word in ALL_STEPS if word in step.command)
        if name == self.fail_at:
            return Result(1, self.lines)
        self.seen.append(name)
        packages = self.environment.packages
        if name == "venv":
            self.environment.python.parent.mkdir(parents=True, exist_ok=True)
            self.environment.python.touch()
            packages.mkdir(parents=True, exist_ok=True)
        elif "==" in name:
            (packages / f"{name.replace('==', '-')}.dist-info").mkdir(exist_ok=True)
        elif name == "-e":
            (packages / "_editable_impl_wirefence.pth").write_text(str(self.environment.root))
        return Result(0, ("No broken requirements found.",))


@pytest.fixture
def environment(tmp_path: Path) -> bootstrap.Environment:
    for name in bootstrap.SOURCES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    optional = "# a comment\natheris==1\npysimdjson==2\n"
    (tmp_path / "requirements-optional.txt").write_text(optional)
    return bootstrap.Environment(tmp_path)


@pytest.fixture
def ready(environment):
    assert bootstrap.ensure(environment, Steps(environment))
    return environment


def test_a_fresh_checkout_gets_everything(environment):
    steps = Steps(environment)
    assert bootstrap.ensure(environment, steps)
    assert steps.seen == ALL_STEPS


def test_the_second_call_runs_nothing_and_prints_nothing(ready, capsys):
    capsys.readouterr()
    steps = Steps(ready)
    assert not bootstrap.ensure(ready, steps)
    assert steps.seen == []
    assert capsys.readouterr() == ("", "")


def test_nothing_is_locked_where_nothing_is_to_be_done(ready):
    (ready.root / ".venv.lock").unlink()
    assert not bootstrap.ensure(ready, Steps(ready))
    assert not (ready.root / ".venv.lock").exists()


def test_set_up_prints_two_lines_on_stderr_and_names_the_python(environment, capsys):
    bootstrap.ensure(environment, Steps(environment))
    out, err = capsys.readouterr()
    assert out == ""
    first, last = err.splitlines()
    assert bootstrap.base_python() in first
    assert ".".join(map(str, sys.version_info[:3])) in first
    assert ".venv/setup.log" in last


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "scripts/bootstrap.py"]
)
def test_a_changed_source_installs_again_into_the_same_environment(ready, name):
    (ready.root / name).write_text("changed")
    steps = Steps(ready)
    assert bootstrap.ensure(ready, steps)
    assert steps.seen == ALL_STEPS[1:]


def test_another_python_makes_the_environment_anew(ready, monkeypatch):
    monkeypatch.setattr(bootstrap.sys, "version", "3.99")
    steps = Steps(ready)
    assert bootstrap.ensure(ready, steps)
    assert steps.seen[0] == "venv"


def test_a_checkout_that_was_moved_gets_its_environment_anew(ready, tmp_path_factory):
    moved = bootstrap.Environment(tmp_path_factory.mktemp("elsewhere") / "moved")
    ready.root.rename(moved.root)
    steps = Steps(moved)
    assert bootstrap.ensure(moved, steps)
    assert steps.seen[0] == "venv"


def test_a_path_that_is_not_utf8_has_a_digest(environment):
    odd = bootstrap.Environment(environment.root / os.fsdecode(b"\xff"))
    shutil.copytree(environment.root, odd.root)
    assert odd.wanted()[0] != environment.wanted()[0]


@pytest.mark.parametrize("step", ["venv", "-r", "-e", "check"])
def test_a_set_up_that_failed_is_repaired_from_the_start(ready, step):
    (ready.root / "pyproject.toml").write_text("changed")
    ready.stamp.unlink()
    with pytest.raises(bootstrap.SetupError):
        bootstrap.ensure(ready, Steps(ready, fail_at=step))
    steps = Steps(ready)
    assert bootstrap.ensure(ready, steps)
    assert steps.seen == ALL_STEPS


@pytest.mark.parametrize("text", ["", "one", "one two three", "\xff"])
def test_a_damaged_stamp_counts_as_none(ready, text):
    ready.stamp.write_text(text, encoding="latin-1")
    assert ready.found() is None


def test_a_vanished_interpreter_counts_as_no_environment(ready):
    ready.python.unlink()
    assert ready.found() is None


def test_a_changed_optional_requirement_is_tried(ready):
    (ready.root / "requirements-optional.txt").write_text("pysimdjson==2\n")
    steps = Steps(ready)
    assert bootstrap.ensure(ready, steps)
    assert steps.seen == ["-r", "pysimdjson==2", "-e", "check"]


def test_parallel_calls_set_up_once(environment, monkeypatch):
    everyone, lock = threading.Barrier(4, timeout=30), bootstrap.lock_environment

    def lock_together(environment):
        everyone.wait()
        return lock(environment)

    monkeypatch.setattr(bootstrap, "lock_environment", lock_together)
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


def test_a_failed_step_is_named_with_its_last_lines_and_without_pips_noise(environment):
    noise = [
        "WARNING: Location 'packages/orjson/' is ignored: it is neither a file nor a directory.",
        "WARNING: Running pip as the 'root' user can result in broken permissions",
        "WARNING: The directory '.cache/pip' or its parent directory is not writable",
        "DEPRECATION: orjson is being installed using a legacy method",
        "[notice] A new release of pip is available: 23.0.1 -> 26.0",
        "WARNING: You are using pip version 22.0; however, version 26.0 is available.",
        "WARNING: There was an error checking the latest version of pip.",
    ]
    retries = [f"WARNING: Retrying (Retry(total={left})) after a broken link" for left in (2, 1)]
    errors = ["ERROR: no matching distribution", "ERROR: for orjson"]
    steps = Steps(environment, fail_at="-r", lines=[*noise, "", *retries, *errors, noise[0]])
    with pytest.raises(bootstrap.SetupError) as caught:
        bootstrap.ensure(environment, steps)
    assert str(caught.value).splitlines() == [
        'the step "install packages" failed (exit 1).',
        *(f"  {line}" for line in [retries[1], *errors]),
    ]


@pytest.mark.parametrize("name", bootstrap.OPTIONAL)
def test_set_up_goes_on_without_an_optional_package_and_prints_one_line(environment, name, capsys):
    pin = next(step for step in ALL_STEPS if step.startswith(name))
    assert bootstrap.ensure(environment, Steps(environment, fail_at=pin))
    _, said, _ = capsys.readouterr().err.splitlines()
    assert said.startswith(f"Wirefence works without {name}, which has no wheel for Python 3.")
    assert said.endswith(f"Left out: {bootstrap.OPTIONAL[name]}.")
    assert environment.found() == environment.wanted()


def test_each_optional_package_of_the_requirements_says_what_is_left_out():
    root = Path(bootstrap.__file__).resolve().parents[1]
    lines = (root / "requirements-optional.txt").read_text(encoding="utf-8").splitlines()
    names = {line.partition("==")[0] for line in lines if not line.startswith("#")}
    assert names == set(bootstrap.OPTIONAL)


def test_packages_that_do_not_fit_each_other_fail_the_set_up(environment):
    lines = ["rich 15 has requirement pygments>9, but you have pygments 2."]
    with pytest.raises(bootstrap.SetupError, match="check the packages"):
        bootstrap.ensure(environment, Steps(environment, fail_at="check", lines=lines))


def test_the_path_file_of_the_checkout_is_relative_and_ascii(tmp_path):
    root = tmp_path / "wé ird"
    environment = bootstrap.Environment(root)
    environment.packages.mkdir(parents=True)
    path = environment.packages / "_editable_impl_wirefence.pth"
    path.write_text(str(root), encoding="utf-8")
    bootstrap.make_path_relative(environment)
    line = path.read_text(encoding="ascii").strip()
    assert (environment.packages / line).resolve() == (root / "src").resolve()


def test_a_path_file_of_another_name_is_reported(environment):
    with pytest.raises(bootstrap.SetupError, match=r"wrote no '_editable_impl_wirefence.pth'"):
        bootstrap.make_path_relative(environment)


@pytest.mark.parametrize(
    ("system", "name"), [("darwin", "macOS"), ("win32", "Windows"), ("freebsd14", "freebsd14")]
)
def test_a_system_that_is_not_supported_ends_in_a_sentence(system, name, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap.sys, "platform", system)
    assert bootstrap.main() == 2
    said = f"Wirefence runs on Linux only, and this is {name}."
    assert capsys.readouterr().err.startswith(said)


def test_a_system_without_fcntl_gets_as_far_as_the_sentence():
    code = (
        "import sys; sys.modules['fcntl'] = None; sys.platform = 'win32'; "
        "from scripts import bootstrap; sys.exit(bootstrap.main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(bootstrap.__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
