"""Node servers: a ``--require`` hook, put into every Node that the launch starts.

``NODE_OPTIONS`` reaches any depth of launchers (npx, shells) and worker threads;
built-in modules are patched before the server's first line, and ``syncBuiltinESMExports`` carries
the patches over to ES modules, which otherwise keep the functions as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.environment import inherited_value, with_env
from wirefence.targets.effects.journal import Journal, prepend_path
from wirefence.targets.effects.records import Observed

__all__ = ["NodeRequire"]

_HOOK = Path(__file__).with_name("injected") / "node" / "record.cjs"


class NodeRequire:
    """Connections, HTTP requests, started programs and files written, removed or renamed."""

    name = "node"
    blind = (
        "the bodies of requests, what native addons do by themselves, writes through a descriptor "
        "that was opened before, Bun and Deno, and Nodes started with an environment of their own"
    )

    def __init__(self) -> None:
        self._journal = Journal(self.name)

    def unavailable(self, launch: Launch) -> str:  # noqa: ARG002 - known only once it runs
        return ""

    def wrap(self, launch: Launch) -> Launch:
        quoted = str(_HOOK).replace("\\", "\\\\").replace('"', '\\"')
        options = prepend_path(
            f'--require "{quoted}"', inherited_value(launch, "NODE_OPTIONS"), " "
        )
        return with_env(
            launch, NODE_OPTIONS=options, WIREFENCE_NODE_JOURNAL=str(self._journal.path)
        )

    def idle(self) -> str:
        return "" if self._journal.hellos() else "no Node process has loaded the hook"

    def take(self) -> Sequence[Observed]:
        return self._journal.take()

    def close(self) -> None:
        self._journal.close()
