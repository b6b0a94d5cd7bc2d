"""Ctrl-C while a command is being loaded ends it as later: a sentence, exit 2, no traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import wirefence
from wirefence.fuzz.processes import signals as ends

ROOT = Path(wirefence.__file__).resolve().parents[2]
HANG = 120.0

MODULE, NAME = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"][
    "wirefence"
].split(":")
ENTRIES = {
    "python -m wirefence": ("-m", "wirefence"),
    "wirefence": ("-c", f"import re\nimport sys\nfrom {MODULE} import {NAME}\nsys.exit({NAME}())"),
}
"""How the command line is started; the second is the script that an installer writes."""


@contextmanager
def starting(entry: str, *words: str, ignoring: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """The command, which names each module on stderr as soon as it is imported."""
    process = subprocess.Popen(
        [*ignoring.split(), sys.executable, "-X", "importtime", *ENTRIES[entry], *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    hang = threading.Timer(HANG, process.kill)
    hang.start()
    with process:
        yield process
    hang.cancel()


def imported(process: subprocess.Popen[bytes], module: str) -> None:
    """Read until a module was imported."""
    assert process.stderr is not None
    assert any(line.rpartition(b"|")[2].strip() == module.encode() for line in process.stderr)


def said(process: subprocess.Popen[bytes]) -> str:
    """What is on stderr beside the names of modules."""
    assert process.stderr is not None
    text = process.stderr.read().decode()
    return "\n".join(re.findall(r"^(?!import time:)(.+)$", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("entry", "module"),
    [
        ("wirefence", "click._compat"),
        ("wirefence", "wirefence.fuzz.store.store"),
        ("wirefence", "wirefence.targets.parsers.prescan"),
        ("python -m wirefence", "click"),
        ("python -m wirefence", "rich.text"),
    ],
)
def test_ctrl_c_at_any_moment_of_loading_is_one_sentence(entry: str, module: str) -> None:
    with starting(entry, "campaign", "--target", "no.such.module:factory") as process:
        imported(process, module)
        process.send_signal(signal.SIGINT)
        words = said(process)
    assert process.returncode == 2
    assert words == "wirefence: interrupted; nothing that was saved is lost"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_its_like_end_it_too(end: signal.Signals) -> None:
    with starting("wirefence", "campaign", "--target", "no.such.module:factory") as process:
        imported(process, "click")
        process.send_signal(end)
        words = said(process)
    assert process.returncode == 2
    assert words.startswith("wirefence: interrupted; ")


def test_what_the_caller_has_ignored_stays_ignored() -> None:
    with starting("wirefence", "--version", ignoring="nohup") as process:
        imported(process, "click")
        process.send_signal(signal.SIGHUP)
        said(process)
    assert process.returncode == 0


def test_handlers_are_given_back() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with ends.exit_on_signals(), ends.interrupt_on_signals(), ends.exit_on_signals():
        pass
    assert before == [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]


def test_a_thread_leaves_handlers_alone() -> None:
    seen: list[object] = []

    def other() -> None:
        with ends.exit_on_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


HELPED = """
import multiprocessing, signal
from wirefence.fuzz.processes.child import start_children
if __name__ == "__main__":
    with start_children():
        child = multiprocessing.get_context("spawn").Process(target=int)
        child.start()
        print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""


def test_no_child_hears_ctrl_c_though_python_starts_a_helper_first(tmp_path: Path) -> None:
    (tmp_path / "helped.py").write_text(HELPED)
    done = subprocess.run(
        [sys.executable, "helped.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=True,
    )
    assert done.stdout.split() == ["True", "False"]
