"""Debian's clang, and the runtime of atheris that its output needs.

The compiler puts the sanitizer's hooks in and the linker leaves them undefined.
The preloaded runtime of atheris resolves them, so that the module, libFuzzer and AddressSanitizer
are one set of counters, and clang's own runtime package is not needed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.errors import UsageError

__all__ = [
    "RELAY",
    "Toolchain",
    "compile_extension",
    "compile_relay",
    "find_failure",
    "find_toolchain",
    "plain_env",
    "run_tool",
]

_DRIVER = """#!/bin/sh
for word; do
  if [ "$word" = -c ]; then exec {real} {sanitizers} "$@"; fi
done
exec {real} "$@"
"""
RELAY = Path(__file__).with_name("relay.c")
_WITHOUT = "or go on without --native"
_TELLING = re.compile(r"error: (?!subprocess-exited|command )|cannot find|No module named", re.I)
_PLAIN = ("-O2", "-gline-tables-only", "-fno-omit-frame-pointer")
# Frames of a report are its signature: calls that were inlined or left early would be missing.
_WATCHED = ("-O1", "-gline-tables-only", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler and the runtime to preload. ``version`` is the compiler's own first line."""

    clang: Path
    clangxx: Path
    version: str
    runtime: Path
    address: bool

    @property
    def sanitizers(self) -> str:
        kinds = "fuzzer-no-link,address" if self.address else "fuzzer-no-link"
        return f"-fsanitize={kinds}"

    @property
    def flags(self) -> tuple[str, ...]:
        return _WATCHED if self.address else _PLAIN

    def build_env(self, work: Path) -> dict[str, str]:
        """The environment in which setuptools compiles with this; ``work`` is for its needs."""
        cc, cxx = self._driver(work, self.clang), self._driver(work, self.clangxx)
        flags = " ".join(self.flags)
        return plain_env() | {
            "CC": cc,
            "CXX": cxx,
            "CFLAGS": flags,
            "CXXFLAGS": flags,
            "LDSHARED": f"{cc} -shared",
            "LDCXXSHARED": f"{cxx} -shared",
            "UJSON_BUILD_NO_STRIP": "1",  # a stripped library has no names for a report's frames
        }

    def _driver(self, work: Path, compiler: Path) -> str:
        """A compiler that sanitizes what it compiles: setuptools links with the same command."""
        script = work / compiler.name
        real = shlex.quote(str(compiler))
        script.write_text(_DRIVER.format(real=real, sanitizers=self.sanitizers))
        script.chmod(0o755)
        return shlex.quote(str(script))

    def symbolizer(self) -> str:
        """Path of llvm-symbolizer, ``""`` where it is not installed."""
        beside = self.clang.resolve().with_name("llvm-symbolizer")
        return str(beside) if beside.exists() else shutil.which("llvm-symbolizer") or ""


def find_toolchain(*, address: bool = False) -> Toolchain:
    """Find what building and running instrumented code needs. Raises UsageError."""
    clang, clangxx = shutil.which("clang"), shutil.which("clang++")
    if clang is None or clangxx is None:
        raise UsageError(
            "clang is not installed, and no other compiler has libFuzzer's coverage hooks",
            f"apt-get install clang, {_WITHOUT}",
        )
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        raise UsageError(
            "the C headers of this Python are not installed",
            f"apt-get install python3-dev, {_WITHOUT}",
        )
    answer = run_tool([clang, "--version"])
    version = answer.stdout.partition("\n")[0].strip()
    if answer.returncode or not version:
        raise UsageError(
            f"{clang} does not run: {find_failure(answer.stdout)}", f"mend clang, {_WITHOUT}"
        )
    return Toolchain(Path(clang), Path(clangxx), version, _find_runtime(address=address), address)


def _find_runtime(*, address: bool) -> Path:
    """The shared library with libFuzzer (and AddressSanitizer) that atheris ships beside itself."""
    spec = importlib.util.find_spec("atheris")
    if spec is None or spec.origin is None:
        raise UsageError(
            "atheris is not installed (it has wheels for Linux on x86-64 only)",
            f"pip install atheris, {_WITHOUT}",
        )
    # Both define the coverage hooks; the UBSan one adds a report with frames for a deadly signal.
    name = "asan_with_fuzzer.so" if address else "ubsan_with_fuzzer.so"
    path = Path(spec.origin).parent.parent / name
    if not path.exists():
        raise UsageError(
            f"this atheris was installed without {name}", f"install its wheel, {_WITHOUT}"
        )
    return path


def compile_extension(
    tools: Toolchain, source: Path, target: Path, *, includes: Sequence[Path] = ()
) -> None:
    """Compile one C file to the extension module ``target``. Raises UsageError if that fails."""
    folders = [sysconfig.get_path("include"), *map(str, includes)]
    flags = [tools.sanitizers, *tools.flags, "-DNDEBUG", *(f"-I{folder}" for folder in folders)]
    _compile_source(tools, source, target, flags)


def compile_relay(tools: Toolchain, target: Path) -> None:
    """Compile what lets a preloaded libFuzzer find custom mutators. Raises UsageError."""
    _compile_source(tools, RELAY, target, ["-O2"])


def _compile_source(tools: Toolchain, source: Path, target: Path, flags: Sequence[str]) -> None:
    part = target.with_suffix(".o")
    for command in (
        [str(tools.clang), *flags, "-fPIC", "-c", str(source), "-o", str(part)],
        [str(tools.clang), "-shared", str(part), "-o", str(target)],
    ):
        done = run_tool(command)
        if done.returncode:
            raise UsageError(
                f"{tools.version} cannot compile {source.name}: {find_failure(done.stdout)}",
                "see whether the source belongs to this Python",
            )
    part.unlink()


def plain_env() -> dict[str, str]:
    """Our environment for tools: without what is meant for the processes that fuzz."""
    return {k: v for k, v in os.environ.items() if k not in {"LD_PRELOAD", "PYTHONPATH"}}


def run_tool(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    seconds: float = 900,
) -> subprocess.CompletedProcess[str]:
    """Run a command; ``stdout`` of the answer is everything it said. Code 124: out of time.

    Without ``env`` it runs in :func:`plain_env`.
    """
    try:
        return subprocess.run(  # noqa: S603 - tools we found, with words of our own
            list(command),
            env=plain_env() if env is None else env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(list(command), 124, f"no end within {seconds:.0f} s")


def find_failure(said: str) -> str:
    """The one line of a tool's output that tells most: its first error, else its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if _TELLING.search(line)]
    return (errors or lines[-1:] or ["it said nothing"])[0][:300]
