"""Reading and changing the environment that a launch will have."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from wirefence.targets.command.records import Launch

__all__ = ["inherited_value", "may_install", "with_env"]

_INSTALLERS = frozenset(
    {"npx", "npm", "pnpm", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman"}
)


def may_install(launch: Launch) -> bool:
    """Whether the command may have to fetch the server first, and so needs the network and HOME."""
    return bool(launch.argv) and Path(launch.argv[0]).name in _INSTALLERS


def inherited_value(launch: Launch, name: str) -> str | None:
    """The value that the launched process will see, ``None`` where it is not set."""
    return launch.env[name] if name in launch.env else os.environ.get(name)


def with_env(launch: Launch, **changes: str | None) -> Launch:
    """The launch with further changes to its environment; ``None`` takes a variable away."""
    return replace(launch, env={**launch.env, **changes})
