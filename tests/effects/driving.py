"""Drives the acting servers below a recording and says what was seen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.available import Recording, Watching
from wirefence.targets.effects.records import Observed

HERE = Path(__file__).parent
PYTHON = (sys.executable, str(HERE / "acting_server.py"))
NODE = ("node", str(HERE / "acting_server.mjs"))
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
NONCE = "qact7f3a"


@dataclass(frozen=True)
class Seen:
    effects: list[Observed]
    stdout: bytes
    stderr: bytes
    code: int
    status: dict[str, str]

    def of(self, nonce: str) -> list[Observed]:
        return [each for each in self.effects if each.carries(nonce)]

    def kinds(self, nonce: str) -> set[str]:
        return {each.kind for each in self.of(nonce)}


def start(launch: Launch) -> subprocess.Popen[bytes]:
    env = {**os.environ, **launch.env}
    kept = {name: value for name, value in env.items() if value is not None}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        launch.argv, stdin=pipe, stdout=pipe, stderr=pipe, env=kept, cwd=launch.cwd
    )


def drive(
    argv: Sequence[str],
    names: Sequence[str] | None,
    lines: Sequence[str],
    cwd: Path,
    *,
    env: dict[str, str | None] | None = None,
    folders: tuple[Path, ...] = (),
) -> Seen:
    launch = Launch(tuple(argv), env or {}, cwd)
    with Recording.of(launch, names, Watching(folders)) as recording:
        process = start(recording.launch)
        stdin = "".join(f"{line}\n" for line in lines).encode()
        stdout, stderr = process.communicate(stdin, timeout=60)
        return Seen(recording.take(), stdout, stderr, process.returncode, recording.status())
