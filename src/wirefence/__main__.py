"""``python -m wirefence`` and ``wirefence``: the command line, and Ctrl-C from its first moment on.

Imports take most of a start, so an early Ctrl-C arrives during them. The handler
for it is therefore installed before anything else is imported.
"""

from __future__ import annotations

import sys

from wirefence.fuzz.errors import USAGE, make_missing_module_error
from wirefence.fuzz.processes.signals import install_exit_on_signals

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    install_exit_on_signals()
    try:
        # Importing it takes most of a start.
        from wirefence.fuzz.cli import main as run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        sys.stderr.write(f"wirefence: {make_missing_module_error(error)}\n")
        sys.exit(USAGE)
    run()


if __name__ == "__main__":
    main()
