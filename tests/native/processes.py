"""Processes of our own, started as a fuzzing process is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python(env: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with an environment changed as a fuzzing process's is; our packages come last."""
    path = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), str(ROOT)]))
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **env, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )
