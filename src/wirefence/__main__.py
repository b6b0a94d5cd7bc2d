"""``python -m wirefence`` and ``wirefence``: the command line, and Ctrl-C from its first moment on.

The key insight: what takes long at a start is importing, so whoever presses Ctrl-C early meets
that; nothing but the answer to it is imported before.
"""

from __future__ import annotations

import sys

from wirefence.fuzz.errors import USAGE, missing
from wirefence.fuzz.processes.signals import end_at_once

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    end_at_once()
    try:
        # Importing it takes most of a start.
        from wirefence.fuzz.cli import main as run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        sys.stderr.write(f"wirefence: {missing(error)}\n")
        sys.exit(USAGE)
    run()


if __name__ == "__main__":
    main()
