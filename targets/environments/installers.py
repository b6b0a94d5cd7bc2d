"""uv, or venv and pip: what puts a library into an environment, and what its failures mean.

An installer's last line names its own step, not the user's mistake, so its output
is read for the few causes that people can do something about.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from wirefence.targets.environments.interpreters import Interpreter
from wirefence.targets.errors import TargetError

__all__ = ["Installer", "Request", "choose_installer", "full_disk"]

_SECONDS = 900.0
_FULL = "No space left on device"
_NETWORK = re.compile(
    r"NewConnectionError|Failed to establish|name resolution|Name or service not known"
    r"|ConnectTimeout|ReadTimeout|ProxyError|Max retries|connection broken|dns error"
    r"|error sending request|Connection refused|Network is unreachable|Could not connect",
    re.IGNORECASE,
)
_BUILD = re.compile(
    r"metadata-generation-failed|failed building wheel"
    r"|failed to (?:download and )?build|subprocess-exited-with-error"
    r"|build backend|failed-wheel-build",
    re.IGNORECASE,
)
_TAGS = re.compile(
    r"not a supported wheel|none of the wheel's tags|no wheels? with a matching|not compatible"
    r"|has no wheels|no matching Python (?:ABI|implementation)",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"No matching distribution|Could not find a version|no version of|not found in|No solution",
    re.IGNORECASE,
)
_OFFERED = re.compile(r"\(from versions: ([^)]*)\)")
_REASON = re.compile(r"^\s*(?:[\w.]*Error|error|fatal)\b:?.*", re.IGNORECASE | re.MULTILINE)
_EMPTY_REASON = re.compile(
    r"subprocess-exited|metadata-generation|failed-wheel|failed to (?:download and )?build"
    r"|backend returned",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be installed: ``target`` for the installer, the rest for people."""

    target: str
    name: str
    version: str = ""
    local: bool = False

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True, slots=True)
class Installer:
    """One of the two ways; ``uv`` is the path of uv, or empty for venv and pip."""

    uv: str = ""

    @property
    def name(self) -> str:
        return "uv" if self.uv else "pip"

    def create(self, folder: Path, interpreter: Interpreter, held: int) -> None:
        """Make an empty environment. ``held`` is a lock that outlives us with the child."""
        if self.uv:
            command = [self.uv, "venv", "--quiet", "--no-project", "--python"]
            command += [interpreter.executable, str(folder)]
        else:
            bare = ["--without-pip"] if interpreter.installs_elsewhere else []
            command = [interpreter.executable, "-I", "-m", "venv", *bare, str(folder)]
        code, said = _run_installer(command, held)
        if code:
            _raise_if_full(said, folder)
            raise TargetError(
                f"{interpreter.executable} cannot make an environment: {_last_line(said)}",
                "install its venv module (python3-venv on Debian), or uv",
            )

    def install(self, folder: Path, request: Request, interpreter: Interpreter, held: int) -> None:
        """Install into the environment. Raises TargetError with the cause."""
        python = str(folder / "bin" / "python")
        pip = _make_pip_command(python, interpreter)
        start = (
            [self.uv, "pip", "install", "--python", python]
            if self.uv
            else [*pip, "install", "--retries", "2", "--no-compile"]
        )
        code, said = _run_installer([*start, request.target], held)
        if not code:
            return
        _raise_if_full(said, folder)
        if not self.uv and _ABSENT.search(said) and not _NETWORK.search(said):
            # pip says why it passed over a release only when asked to say everything.
            look = ["download", "--no-deps", "--only-binary=:all:", "-vv", "--dest", str(folder)]
            said += _passed_over(_run_installer([*pip, *look, request.target], held)[1], request)
        raise _explain_failure(said, request, interpreter, self)


def choose_installer() -> Installer:
    """Take uv where it is on PATH, unless ``$WIREFENCE_INSTALLER`` is ``pip``."""
    wanted = os.environ.get("WIREFENCE_INSTALLER", "")
    if wanted not in ("", "pip", "uv"):
        raise TargetError(
            f"WIREFENCE_INSTALLER is {wanted!r}", "set it to pip or uv, or not at all"
        )
    uv = shutil.which("uv") if wanted != "pip" else None
    if wanted == "uv" and uv is None:
        raise TargetError(
            "WIREFENCE_INSTALLER is uv, which is not on PATH", "install uv, or unset it"
        )
    return Installer(uv or "")


def full_disk(folder: Path) -> TargetError:
    """The disk of the cache has no room."""
    return TargetError(f"the disk of {folder} is full", "make room, or choose another cache folder")


def _make_pip_command(python: str, interpreter: Interpreter) -> list[str]:
    """The command of pip for an environment: without a pip of its own it is made much faster."""
    if interpreter.installs_elsewhere:
        start = [interpreter.executable, "-I", "-m", "pip", "--python", python]
    else:
        start = [python, "-I", "-m", "pip"]
    return [*start, "--disable-pip-version-check", "--no-input"]


def _run_installer(command: list[str], held: int) -> tuple[int, str]:
    """Exit code and everything that was said. The child keeps the lock while it lives."""
    try:
        done = subprocess.run(  # noqa: S603 - an installer with words of ours and the requirement
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
            pass_fds=(held,),
        )
    except subprocess.TimeoutExpired as error:
        said = (error.output or b"").decode(errors="replace")
        return 1, f"{said}\nerror: it took more than {_SECONDS / 60:.0f} minutes"
    except OSError as error:
        return 1, f"error: cannot run {command[0]}: {error.strerror}"
    return done.returncode, done.stdout.decode(errors="replace")


def _raise_if_full(said: str, folder: Path) -> None:
    if _FULL in said:
        raise full_disk(folder.parent)


def _passed_over(said: str, request: Request) -> str:
    file = f"{request.name.replace('-', '_')}-{request.version}-".lower()
    lines = [line for line in said.splitlines() if file in line.lower().replace("-", "_", 1)]
    return "\n" + "\n".join(line for line in lines if "Skipping link" in line)


def _explain_failure(
    said: str, request: Request, interpreter: Interpreter, installer: Installer
) -> TargetError:
    """The sentence for a failed installation, from the installer's output."""
    what, where = request.label, interpreter.label
    # A build that cannot reach something says so too; only its requirements come from the index.
    reached = _BUILD.search(said) and not re.search(
        "build dependencies|build-system.requires", said
    )
    if _NETWORK.search(said) and not reached:
        return TargetError(
            f"no package index could be reached for {what} (tried with {installer.name})",
            "check the network and the index in the installer's own configuration",
        )
    if _other_python(said, request):
        return TargetError(f"{what} does not support {where}", "name another Python with --python")
    if _BUILD.search(said):
        no_wheel = "" if request.local else f"{what} has no wheel for {where} and "
        return TargetError(
            f"{no_wheel}building {'it' if no_wheel else what} failed: {_find_reason(said)}",
            "choose a version or a Python with a wheel, or install what the build lacks",
        )
    if _TAGS.search(said):
        return TargetError(
            f"{what} has no wheel for {where} on {interpreter.machine}, and no source to build",
            "name another Python with --python",
        )
    if _ABSENT.search(said):
        return _explain_absence(said, request, installer)
    return TargetError(f"{installer.name} could not install {what}: {_find_reason(said)}")


def _other_python(said: str, request: Request) -> bool:
    version, flat = re.escape(request.version), " ".join(said.split())
    skipped = rf"require a different python version:.*\b{version} Requires-Python"
    refused = r"Python version .*does not satisfy Python|requires a different Python"
    return bool((version and re.search(skipped, flat)) or re.search(refused, flat))


def _explain_absence(said: str, request: Request, installer: Installer) -> TargetError:
    offered = _OFFERED.search(said)
    versions = [v.strip() for v in offered.group(1).split(",")] if offered else []
    if "none" in versions or re.search(r"not found in the package registry", said):
        return TargetError(
            f"the package index has no {request.name} (tried {request.target})", "check the name"
        )
    hint = (
        f"the last ones there are {', '.join(versions[-3:])}" if versions else "check the version"
    )
    return TargetError(f"there is no {request.label} (tried with {installer.name})", hint)


def _find_reason(said: str) -> str:
    found = [line.strip() for line in _REASON.findall(said) if not _EMPTY_REASON.search(line)]
    return found[0][:200] if found else _last_line(said)


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"
