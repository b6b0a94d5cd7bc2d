"""``python -m fuzz`` is the ``wirefence`` command."""

from __future__ import annotations

from fuzz.cli import main

if __name__ == "__main__":
    main()
