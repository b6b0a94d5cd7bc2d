"""A process is started, fed, read and ended, whatever it does."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wirefence.targets.command import guardian, strays
from wirefence.targets.command.guardian import end_left
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch
from wirefence.targets.command.session import Session, Spares
from wirefence.targets.errors import TargetError

GUARD = 60.0


def start(code: str, *words: str, **more) -> Process:
    return Process(Launch((sys.executable, "-S", "-c", code, *words), **more))


@pytest.fixture
def ended():
    processes: list[Process] = []
    yield processes
    for process in processes:
        process.stop()


def test_every_byte_goes_both_ways_unchanged(ended):
    ended.append(p := start("import os\nwhile d := os.read(0, 99): os.write(1, d)"))
    data = bytes(range(256)) * 4_000
    p.write(data, cuts=[1, 2, 500_000])
    p.end_input()
    p.pump_until(lambda: False, GUARD)
    assert bytes(p.stdout.data) == data == bytes(p.sent)
    assert [size for _, size in p.sends][-1] == len(data)
    assert p.stdout.marks == sorted(p.stdout.marks)


def test_stderr_is_kept_apart(ended):
    ended.append(p := start("import os; os.write(2, b'\\xff bad'); os.write(1, b'out')"))
    p.pump_until(lambda: False, GUARD)
    p.wait(GUARD)
    p.stop()
    assert (bytes(p.stdout.data), bytes(p.stderr.data)) == (b"out", b"\xff bad")


@pytest.mark.parametrize(
    ("code", "told"), [("raise SystemExit(7)", "exit code 7"), ("import os; os.abort()", "SIGABRT")]
)
def test_the_end_is_told_as_it_was(ended, code, told):
    ended.append(p := start(code))
    assert p.wait(GUARD)
    assert str(p.stop()) == told


def test_stop_ends_the_whole_group_though_it_ignores_everything_but_sigkill(ended):
    code = (
        "import os, signal, sys, time\n"
        "for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "child = os.fork()\n"
        "if child: os.write(1, b'%d\\n' % child)\n"
        "time.sleep(3600)"
    )
    ended.append(p := start(code))
    session = Session(p)
    p.pump_until(lambda: (session.collect(), bool(session.lines))[1], GUARD)
    child = int(session.lines[0])
    assert p.stop().signal == signal.SIGKILL
    assert _ends(child)


def _ends(pid: int) -> bool:
    deadline = time.monotonic() + GUARD
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_survivors_of_a_leader_that_has_ended_are_killed_too(ended):
    code = "import os, time\nif c := os.fork(): os.write(1, b'%d' % c)\nelse: time.sleep(3600)"
    ended.append(p := start(code))
    assert p.wait(GUARD)
    assert p.stop().code == 0
    assert _ends(int(p.stdout.data))


def test_a_process_that_never_reads_blocks_nobody(ended):
    ended.append(p := start("import time; time.sleep(3600)"))
    p.write(b"x" * 1_000_000)
    p.pump(0.3)
    assert 0 < p.unread() < 1_000_000
    assert not p.pump_until(lambda: False, 0.1)
    p.stop()
    assert len(p.sent) < 1_000_000


def test_writing_to_a_process_that_has_gone_is_noted(ended):
    ended.append(p := start(""))
    p.wait(GUARD)
    p.write(b"x" * 1_000_000)
    deadline = time.monotonic() + GUARD
    while not p.refused and time.monotonic() < deadline:
        time.sleep(0.01)
    assert p.refused
    assert len(p.sent) < 1_000_000


def test_peak_memory_is_the_servers_own_and_not_ours(ended):
    ballast = bytearray(300_000_000)
    ended.append(p := start("import sys; sys.stdin.read()"))
    p.pump(0.5)
    assert 1_000_000 < p.measure() < len(ballast)


def test_a_server_that_floods_stdout_is_cut_off(ended):
    ended.append(p := start("import os\nwhile True: os.write(1, b'x' * 65536)"))
    p.pump_until(lambda: False, GUARD)
    assert p.flooded


def test_a_server_that_floods_stdout_with_lines_is_cut_off_before_it_costs_an_hour(ended):
    ended.append(p := start("import os\nwhile True: os.write(1, b'hello\\n' * 999)"))
    session = Session(p)
    p.pump_until(lambda: (session.collect(), False)[1], GUARD)
    assert p.flooded
    assert len(session.lines) < 100_000


def test_what_is_asked_for_is_no_flood_however_much_it_is_in_the_end(ended):
    answer = "import os\nwhile os.read(0, 1): os.write(1, b'x' * 2_999 + b'\\n' * 9_000)"
    ended.append(p := start(answer))
    for _ in range(5):
        expected = len(p.stdout.data) + 11_999
        p.write(b"?")
        assert p.pump_until(lambda size=expected: len(p.stdout.data) >= size, GUARD)
    assert not p.flooded


def test_a_server_that_floods_stderr_is_not_left_with_a_full_pipe(ended):
    code = "import os\nfor _ in range(999): os.write(2, b'x' * 65536)\nos.write(1, b'done')"
    ended.append(p := start(code))
    assert p.pump_until(lambda: p.stdout.data == b"done", GUARD)
    assert 1_000_000 < len(p.stderr.data) < 20_000_000


DETACHED = (
    "import os, sys, time\n"
    "if os.fork(): os.wait() and time.sleep(3600)\n"
    "os.setsid()\n"
    "between = os.getpid()\n"
    "if TWICE and os.fork(): os._exit(0)\n"
    "while TWICE and os.getppid() == between: time.sleep(0.001)\n"
    "os.write(1, b'%d\\n' % os.getpid())\n"
    "time.sleep(3600)\n"
)


def detached(ended, *, twice: bool) -> tuple[Process, int]:
    """A server, and a process that it started and that has left its group; twice: a daemon."""
    ended.append(p := start(DETACHED.replace("TWICE", str(twice))))
    session = Session(p)
    assert p.pump_until(lambda: (session.collect(), bool(session.lines))[1], GUARD)
    return p, int(session.lines[0])


def test_a_child_that_has_left_the_group_is_killed_with_its_parent(ended):
    process, child = detached(ended, twice=False)
    process.stop()
    assert _ends(child)


def test_a_daemon_is_killed_at_the_end_and_nothing_else(ended):
    process, daemon = detached(ended, twice=True)
    living, its = detached(ended, twice=False)
    other = subprocess.Popen(["sleep", "3600"])  # no server of ours
    process.stop()
    assert _alive(daemon)
    assert end_left() == 1
    assert _ends(daemon)
    assert all(map(_alive, (living.pid, its, other.pid)))
    other.kill()
    other.wait()


def test_whoever_dies_slowly_is_one_stray(monkeypatch):
    """The environment of a process that was killed can be read until it is gone."""
    dying = iter([[11, 12], [11, 12, 13], [12]])
    monkeypatch.setattr(strays, "_list_marked", lambda: next(dying))
    monkeypatch.setattr(strays, "_kill_marked", lambda pid: True)
    assert strays.end_strays(()) == 3


def test_no_mark_is_the_beginning_of_anothers(monkeypatch):
    marks = []
    for pid in (12, 123):
        monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
        marks.append(strays.make_mark())
    assert not marks[1].startswith(marks[0])


def test_a_variable_can_be_set_and_taken_away(ended, monkeypatch):
    monkeypatch.setenv("WF_GONE", "1")
    code = "import os; print(os.environ.get('WF_SET'), os.environ.get('WF_GONE'))"
    ended.append(p := start(code, env={"WF_SET": "a", "WF_GONE": None}))
    p.pump_until(lambda: False, GUARD)
    assert bytes(p.stdout.data) == b"a None\n"


@pytest.mark.parametrize(
    ("launch", "told"),
    [
        (Launch(("no-such-command-wf",)), "there is no command 'no-such-command-wf'"),
        (Launch((str(Path(__file__)),)), "may not be executed"),
        (Launch(("true",), cwd=Path("no-such-folder-wf")), "is no folder"),
        (Launch(()), "the command is empty"),
        (Launch(("",)), "the command is empty"),
        (Launch((str(Path(__file__).parent),)), "is a folder"),
        (Launch(("a\0b",)), "cannot be started"),
    ],
)
def test_a_command_that_cannot_start_is_told_in_a_sentence(launch, told):
    with pytest.raises(TargetError) as failed:
        Process(launch)
    assert told in failed.value.cause
    assert "\n" not in str(failed.value)


def test_replies_are_waited_for_by_id_in_any_order(ended):
    code = (
        "import sys\nsys.stdin.readline()\n"
        'print(\'{"id": "b"}\'); print(\'noise\'); print(\'{"id" :"a"}\', flush=True)\n'
        "sys.stdin.read()"
    )
    ended.append(p := start(code))
    session = Session(p)
    session.send(b"go\n")
    assert session.wait_for([b"a", b"b"], GUARD)
    assert not session.wait_for([b"c"], 0.05)
    assert session.lines == [b'{"id": "b"}', b"noise", b'{"id" :"a"}']


def test_spares_are_started_ahead_and_ended():
    class Fake:
        stopped = 0

        def stop(self) -> None:
            Fake.stopped += 1

    started: list[Fake] = []
    spares: Spares[Fake] = Spares(lambda: started.append(Fake()) or started[-1], ahead=2)
    first = spares.take()
    assert first is started[0]
    assert len(started) == 3
    assert spares.take() is started[1]
    spares.close()
    assert Fake.stopped == 2


def test_a_spare_that_cannot_start_costs_nobody_who_runs():
    class Fake:
        stopped = False

        def stop(self) -> None:
            self.stopped = True

    def start() -> Fake:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Fake):
            return outcome
        raise outcome

    first, second, last = Fake(), Fake(), Fake()
    no = TargetError("no process to give")
    outcomes = [first, no, no, second, no, last, KeyboardInterrupt()]
    spares: Spares[Fake] = Spares(start)
    assert spares.take() is first
    with pytest.raises(TargetError, match="no process to give"):
        spares.take()
    assert spares.take() is second
    assert not second.stopped
    with pytest.raises(KeyboardInterrupt):
        spares.take()
    assert last.stopped


@pytest.mark.parametrize("missing", ["os.pidfd_open", "selectors.DefaultSelector"])
def test_a_server_that_cannot_be_watched_is_not_left_behind(missing, ended, monkeypatch):
    ended.append(start(""))  # with it the guardian, whose pipe stays open
    started: list[subprocess.Popen] = []
    popen = subprocess.Popen

    def noted(*words, **more):
        started.append(popen(*words, **more))
        return started[-1]

    def failing(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    before = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", noted)
        patch.setattr(missing, failing)
        with pytest.raises(TargetError, match=r"cannot be watched \(Too many open files\)"):
            start("import time; time.sleep(3600)")
    (child,) = started
    assert child.returncode == -signal.SIGKILL
    assert child.pid not in {group for _, group in guardian._living}
    assert len(list(Path("/proc/self/fd").iterdir())) == before


KILLED_WITH_A_DAEMON = f"""
import os, signal, sys
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch
process = Process(Launch((sys.executable, "-S", "-c", {DETACHED.replace("TWICE", "True")!r})))
process.pump_until(lambda: b"\\n" in process.stdout.data, 60)
print(process.stdout.data.decode(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_daemon_outlives_a_gate_that_is_killed():
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WITH_A_DAEMON], capture_output=True, check=False, timeout=120
    )
    assert done.returncode == -9
    assert _ends(int(done.stdout))


KILLED = """
import os, signal, sys, time
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch
stubborn = "import time; print(1, flush=True); time.sleep(99)"
ended = Process(Launch((sys.executable, "-c", "pass")))
ended.wait(60)
ended.stop()
process = Process(Launch((sys.executable, "-c", stubborn)))
process.pump_until(lambda: bool(process.stdout.data), 60)
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_server_outlives_a_gate_that_is_killed():
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, check=False, timeout=120
    )
    assert done.returncode == -9
    pid = int(done.stdout)
    deadline = time.monotonic() + 60
    while _lives(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _lives(pid)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
