"""A fake ``ssh`` first on PATH: the endpoint of executors that run commands on other machines."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.environment import inherited_value, with_env
from wirefence.targets.effects.journal import Journal, prepend_path
from wirefence.targets.effects.records import Observed

__all__ = ["FakeSsh"]

_STUB = Path(__file__).with_name("injected") / "ssh" / "stub.py"
_NAMES = ("ssh", "scp", "sftp")


class FakeSsh:
    """Arguments and input of every ``ssh``, ``scp`` and ``sftp`` that is found by PATH.

    The fake prints nothing and exits 0. Nothing leaves the machine.
    """

    name = "ssh"
    blind = "ssh called by an absolute path or with a PATH of its own, and ssh libraries (paramiko)"

    def __init__(self) -> None:
        self._journal = Journal(self.name)
        self._folder = self._journal.folder / "bin"
        self._folder.mkdir()
        for name in _NAMES:
            self._put(name)

    def _put(self, name: str) -> None:
        words = (sys.executable, "-I", "-S", str(_STUB), str(self._journal.path), name)
        script = self._folder / name
        # A shell in between, since a "#!" line takes neither blanks in paths nor many words.
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        script.chmod(0o755)

    def unavailable(self, launch: Launch) -> str:  # noqa: ARG002 - works for any launch
        return "" if os.access("/bin/sh", os.X_OK) else "there is no /bin/sh"

    def wrap(self, launch: Launch) -> Launch:
        path = inherited_value(launch, "PATH") or os.defpath
        return with_env(launch, PATH=prepend_path(str(self._folder), path))

    def idle(self) -> str:
        return ""

    def take(self) -> Sequence[Observed]:
        return self._journal.take()

    def close(self) -> None:
        self._journal.close()
