"""Make or repair ``.venv`` as the requirements files say; do nothing when it is up to date.

A stamp inside the environment names everything that it was made from. It is removed before the
first step and written after the last one, so an interrupted set-up leaves no stamp, and an
environment without a stamp is made anew. Each step writes to ``.venv/setup.log``; stderr gets a
line at the start, a line for each package that is left out, and a line at the end.

Standard library only: ``make`` runs this with the Python that ``scripts/choose-python`` prints.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SOURCES = (
    "pyproject.toml",
    "requirements.txt",
    "requirements-optional.txt",
    "requirements-dev.txt",
    "scripts/bootstrap.py",
)

OPTIONAL = {
    "atheris": "wirefence fuzz, and the coverage-guided part of campaigns",
    "pysimdjson": "the simdjson parser configurations",
}
"""Packages of requirements-optional.txt, and what is left out without each."""

USAGE, FAILED = 2, 3
"""Exit codes: wrong machine, place or interruption; a step that failed."""

NOISE = (
    "WARNING: Location",
    "WARNING: Running pip as",
    "WARNING: The directory",
    "WARNING: There was an error checking",
    "WARNING: You are using pip version",
    "[notice]",
    "DEPRECATION:",
)
"""Starts of pip's lines about its own configuration, which explain no failure."""

RETRY = "WARNING: Retrying"
"""Start of pip's line for each attempt to reach an index; the last of them is enough."""

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a set-up."""

GRACE_SECONDS = 5.0
"""Time for an interrupted step to delete its temporary files, which takes pip far less."""

SHOWN_LINES = 5
"""Lines of a failed step that are shown; the log has the rest."""


class SetupError(Exception):
    """Set-up cannot go on; the message is for the user."""

    def __init__(self, message: str, code: int = FAILED):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Step:
    """One command of set-up, and what it does in words for the user."""

    purpose: str
    command: Sequence[str]
    replaces_folder: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How a step ended: its exit code and the lines that it printed."""

    code: int
    lines: Sequence[str] = ()


RunStep = Callable[[Step], Result]


@dataclass(frozen=True, slots=True)
class Environment:
    """A checkout and the virtual environment that belongs to it."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / ".venv"

    @property
    def stamp(self) -> Path:
        return self.folder / "wirefence-stamp"

    @property
    def log(self) -> Path:
        return self.folder / "setup.log"

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        return self.folder / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"

    def wanted(self) -> tuple[str, str]:
        """Return a digest of the interpreter and place, and one of what is to be installed.

        The place counts because console scripts hold absolute paths.
        """
        parts = (sys.version, sys.base_prefix, self.root)
        base = b"\n".join(os.fsencode(part) for part in parts)
        content = b"\0".join((self.root / name).read_bytes() for name in SOURCES)
        return hashlib.sha256(base).hexdigest(), hashlib.sha256(content).hexdigest()

    def found(self) -> tuple[str, str] | None:
        """Return the digests of the last set-up that ran to its end, or ``None``."""
        try:
            base, content = self.stamp.read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return None
        return (base, content) if self.python.exists() else None


def base_python() -> str:
    """Return the interpreter itself, even when called from an activated environment."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return base


def run_step(step: Step, log: Path, lock: int) -> Result:
    """Run one step with its output in the log.

    The step inherits the lock: if this process is killed and the step is not, the next set-up
    waits until the step has ended.
    """
    # venv --clear deletes the log, so what that step prints is written after it.
    with tempfile.TemporaryFile() if step.replaces_folder else log.open("a+b") as output:
        start = output.seek(0, os.SEEK_END)
        output.write(os.fsencode(f"$ {shlex.join(step.command)}\n"))
        output.flush()
        try:
            code = run_command(step.command, output, lock)
        except OSError as error:
            raise SetupError(f"cannot start {step.command[0]}: {error.strerror}") from error
        output.seek(start)
        text = output.read()
    if step.replaces_folder:
        log.parent.mkdir(exist_ok=True)
        log.write_bytes(text)
    return Result(code, text.decode(errors="replace").splitlines()[1:])


def run_command(command: Sequence[str], output: IO[bytes], lock: int) -> int:
    """Run a command and return its exit code; when interrupted, end the command first."""
    process = None
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)  # until the process has its name here
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PIP_USER": "0"},  # pip refuses user = true in an environment
                pass_fds=(lock,),
                preexec_fn=receive_signals,  # noqa: PLW1509 - this process has one thread
            )
        finally:
            receive_signals()
        return process.wait()
    except KeyboardInterrupt:
        if process:
            end_process(process)
        raise


def receive_signals() -> None:
    """Let the signals through that end a set-up."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a process, and kill it if it does not end soon."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def explaining_lines(lines: Sequence[str]) -> list[str]:
    """Return the last lines of a step that may explain its failure, repetitions left out."""
    kept: list[str] = []
    for line in map(str.strip, lines):
        if not line or line.startswith(NOISE):
            continue
        if kept and line.startswith(RETRY) and kept[-1].startswith(RETRY):
            kept.pop()
        kept.append(line)
    return kept[-SHOWN_LINES:]


def require_success(step: Step, result: Result) -> None:
    """Raise a SetupError that names the step and shows its last lines, if it failed."""
    if result.code:
        lines = "".join(f"\n  {line}" for line in explaining_lines(result.lines))
        raise SetupError(f'the step "{step.purpose}" failed (exit {result.code}).{lines}')


def install(environment: Environment, run: RunStep) -> None:
    """Bring the environment to what is wanted; the stamp is absent meanwhile."""
    wanted, found = environment.wanted(), environment.found()
    environment.stamp.unlink(missing_ok=True)
    environment.log.unlink(missing_ok=True)

    def must(purpose: str, command: Sequence[str], *, replaces_folder: bool = False) -> None:
        step = Step(purpose, command, replaces_folder)
        require_success(step, run(step))

    if found is None or found[0] != wanted[0]:
        venv = [base_python(), "-I", "-m", "venv", "--clear", str(environment.folder)]
        must("make an empty environment", venv, replaces_folder=True)
    pip = [str(environment.python), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    add = [*pip, "install", "--progress-bar=off"]
    must("install packages", [*add, "-r", str(environment.root / "requirements-dev.txt")])
    install_optional(environment, add, run)
    # Without isolation the pinned hatchling builds the package, not whichever is newest today.
    editable = ["--no-deps", "--no-build-isolation", "-e", str(environment.root)]
    must("install Wirefence", [*add, *editable])
    make_path_relative(environment)
    must("check the packages", [*pip, "check"])
    fresh = environment.stamp.with_suffix(".new")
    fresh.write_text("\n".join(wanted) + "\n", encoding="ascii")
    fresh.replace(environment.stamp)


def install_optional(environment: Environment, add: Sequence[str], run: RunStep) -> None:
    """Install each optional package that has a wheel, and print what is left out."""
    text = (environment.root / "requirements-optional.txt").read_text(encoding="utf-8")
    for line in filter(None, text.splitlines()):
        if not line.startswith("#"):
            # No source is built: that takes a compiler, and minutes to fail.
            wheel = ["--only-binary=:all:", "--no-deps", line]
            run(Step("install an optional package", [*add, *wheel]))
    for name in absent_packages(environment):
        print(
            f"Wirefence works without {name}, which has no wheel for Python {sys.version_info[0]}."
            f"{sys.version_info[1]} on {platform.machine()} in the package index. "
            f"Left out: {OPTIONAL[name]}.",
            file=sys.stderr,
        )


def absent_packages(environment: Environment) -> list[str]:
    """Return the names of the optional packages that are not installed."""
    return [name for name in OPTIONAL if not any(environment.packages.glob(f"{name}-*.dist-info"))]


def make_path_relative(environment: Environment) -> None:
    """Replace the checkout's path in the editable install's ``.pth`` by a relative one.

    Before Python 3.13 ``site`` reads the file in the encoding of the locale and stops the
    interpreter when it cannot: a path with non-ASCII letters under ``LC_ALL=C``.
    """
    files = list(environment.packages.glob("_editable_impl_wirefence.pth"))
    if not files:
        raise SetupError("the step \"install Wirefence\" wrote no '_editable_impl_wirefence.pth'")
    files[0].write_text(
        os.path.relpath(environment.root / "src", environment.packages) + "\n", "ascii"
    )


@contextmanager
def lock_environment(environment: Environment) -> Iterator[int]:
    """Hold the lock of a checkout's set-up, and give its descriptor."""
    # Absent on Windows, where main() ends before this.
    import fcntl  # noqa: PLC0415

    try:
        lock = (environment.root / ".venv.lock").open("w")
    except OSError as error:
        raise SetupError(
            f"cannot write to {environment.root} ({error.strerror}). "
            "Clone Wirefence into a folder of your own.",
            USAGE,
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another set-up runs here; this one waits for its end.", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def ensure(environment: Environment, run: RunStep | None = None) -> bool:
    """Set up if needed, one process at a time; return whether anything was done."""
    if environment.found() == environment.wanted():
        return False
    with lock_environment(environment) as lock:
        if environment.found() == environment.wanted():
            return False
        version = ".".join(map(str, sys.version_info[:3]))
        print(
            f"Setting up .venv with Python {version} ({base_python()}); "
            "this is done once and takes about a minute.",
            file=sys.stderr,
        )
        install(environment, run or (lambda step: run_step(step, environment.log, lock)))
        print("Set-up is complete; its log is .venv/setup.log.", file=sys.stderr)
    return True


def describe_unsupported(system: str) -> str | None:
    """Return why Wirefence cannot run on a system (``sys.platform``), or ``None`` if it can."""
    if system.startswith("linux"):
        return None
    name = {"darwin": "macOS", "win32": "Windows"}.get(system, system)
    return (
        f"Wirefence runs on Linux only, and this is {name}. Use a Linux machine, container or WSL."
    )


def interrupt(number: int, _frame: object) -> None:
    """Treat a signal that ends the process as Ctrl-C, so that the running step ends too."""
    raise KeyboardInterrupt(number)


def main() -> int:
    """Return 0 when the environment is ready, 2 on wrong use, 3 when a step failed."""
    unsupported = describe_unsupported(sys.platform)
    if unsupported:
        print(unsupported, file=sys.stderr)
        return USAGE
    for number in ENDINGS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup and background jobs ignore some
            signal.signal(number, interrupt)
    environment = Environment(Path(__file__).resolve().parent.parent)
    try:
        ensure(environment)
    except KeyboardInterrupt:
        print("Set-up was interrupted; the next call starts over.", file=sys.stderr)
        return USAGE
    except (SetupError, OSError) as error:
        print(f"Set-up failed: {error}", file=sys.stderr)
        if environment.log.exists():
            print("The whole log is .venv/setup.log.", file=sys.stderr)
        print("CONTRIBUTING.md says what set-up needs; the next call starts over.", file=sys.stderr)
        return error.code if isinstance(error, SetupError) else FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
