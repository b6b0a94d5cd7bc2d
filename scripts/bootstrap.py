"""Make ``.venv`` what the requirements say; do nothing, quickly, when it already is.

The key insight: a stamp inside the environment names everything it was made from, is taken away
before the first change and put back after the last. Whatever interrupts a set-up leaves no stamp,
and an environment without its stamp is made anew. Standard library only; ``make`` calls it with
the machine's Python, 3.11 or later.
"""

from __future__ import annotations

import fcntl
import hashlib
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = ("pyproject.toml", "requirements.txt", "requirements-dev.txt", "scripts/bootstrap.py")

Run = Callable[[Sequence[str]], None]


class SetupError(Exception):
    """A step of the set-up failed; the message says which and what to do."""


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
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def wanted(self) -> tuple[str, str]:
        """Digest of the interpreter and place, and digest of what is to be installed.

        The place counts because console scripts and the editable install hold absolute paths.
        """
        base = "\n".join((sys.version, sys.base_prefix, str(self.root)))
        content = b"\0".join((self.root / name).read_bytes() for name in SOURCES)
        return hashlib.sha256(base.encode()).hexdigest(), hashlib.sha256(content).hexdigest()

    def found(self) -> tuple[str, str] | None:
        """The digests of the last set-up that ran to its end, or ``None``."""
        try:
            base, content = self.stamp.read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return None
        return (base, content) if self.python.exists() else None


def base_python() -> str:
    """The interpreter itself, even when called from an activated environment (such as ours)."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return base


def run(command: Sequence[str]) -> None:
    """Run one step with its output on stderr, so that stdout stays the caller's."""
    try:
        code = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        raise SetupError(f"cannot start {command[0]}: {error.strerror}") from error
    if code:
        raise SetupError(f"this step failed (exit {code}): {shlex.join(command)}")


def install(environment: Environment, run: Run) -> None:
    """Bring the environment to what is wanted; the stamp is away for as long as it is not."""
    wanted, found = environment.wanted(), environment.found()
    environment.stamp.unlink(missing_ok=True)
    if found is None or found[0] != wanted[0]:
        run([base_python(), "-m", "venv", "--clear", str(environment.folder)])
    pip = [str(environment.python), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    run([*pip, "install", "-q", "-r", str(environment.root / "requirements-dev.txt")])
    # Without isolation the pinned hatchling builds the package, not whichever is newest today.
    editable = ["install", "-q", "--no-deps", "--no-build-isolation", "-e", str(environment.root)]
    run([*pip, *editable])
    run([*pip, "check"])
    fresh = environment.stamp.with_suffix(".new")
    fresh.write_text("\n".join(wanted) + "\n", encoding="ascii")
    fresh.replace(environment.stamp)


def ensure(environment: Environment, run: Run = run) -> bool:
    """Set up if needed, one process at a time; say whether anything was done."""
    if environment.found() == environment.wanted():
        return False
    with (environment.root / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if environment.found() == environment.wanted():
            return False
        version = ".".join(map(str, sys.version_info[:3]))
        print(f"Setting up .venv with Python {version}; this is done once.", file=sys.stderr)
        install(environment, run)
    return True


def main() -> int:
    """Exit 0 when the environment is ready, 3 when it could not be made."""
    try:
        ensure(Environment(Path(__file__).resolve().parent.parent))
    except (SetupError, OSError) as error:
        print(f"Set-up failed: {error}", file=sys.stderr)
        print("CONTRIBUTING.md says what set-up needs; the next call starts over.", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
