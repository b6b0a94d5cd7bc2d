"""Python servers: an audit hook, put into every Python that the launch starts.

``PYTHONPATH`` reaches any depth of launchers, and ``sitecustomize`` runs before
the server's first line, so that no file of the server changes. Whether any Python came to load it
is known only afterwards; each that does says hello in the journal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.environment import inherited_value, with_env
from wirefence.targets.effects.journal import Journal, prepend_path
from wirefence.targets.effects.records import Observed

__all__ = ["PythonAudit"]

_FOLDER = Path(__file__).with_name("injected") / "python"
_PYTHON = re.compile(r"python[\d.]*$")


class PythonAudit:
    """Connections, started programs, files opened for writing, removed or renamed, by audit events.

    Needs CPython 3.8 or later. An event is raised before the act, so a refused one counts as well.
    """

    name = "python"
    blind = (
        "what C extensions do by themselves (uvloop, database drivers), what is written to files, "
        "and Pythons started with -I, -E or -S or with an environment of their own"
    )

    def __init__(self) -> None:
        self._journal = Journal(self.name)

    def unavailable(self, launch: Launch) -> str:
        option = _isolating_option(launch.argv)
        return f"{option} makes this Python ignore PYTHONPATH" if option else ""

    def wrap(self, launch: Launch) -> Launch:
        return with_env(
            launch,
            PYTHONPATH=prepend_path(str(_FOLDER), inherited_value(launch, "PYTHONPATH")),
            WIREFENCE_PYTHON_JOURNAL=str(self._journal.path),
        )

    def idle(self) -> str:
        return "" if self._journal.hellos() else "no Python process has loaded the hook"

    def take(self) -> Sequence[Observed]:
        return self._journal.take()

    def close(self) -> None:
        self._journal.close()


def _isolating_option(argv: Sequence[str]) -> str:
    """The option of a directly started Python that turns the hook off."""
    if not argv or not _PYTHON.match(Path(argv[0]).name):
        return ""
    for word in argv[1:]:
        if not word.startswith("-") or word in {"-c", "-m", "-"}:
            break
        if not word.startswith("--") and set(word[1:]) & set("IES"):
            return word
    return ""
