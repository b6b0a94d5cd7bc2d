#!/usr/bin/env python3
"""libFuzzer target: N-way agreement on one document.

Every parser configuration reads the same bytes, and the judge says who is right.
Run it as any libFuzzer binary: ``fuzz/fuzz_parsers.py [FLAGS] CORPUS... SEEDS``.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # As a script its own folder leads the path, where our modules would shadow the library's.
    root = Path(__file__).resolve().parents[1]
    sys.path[0] = str(root / "src" if (root / "src").is_dir() else root.parent)
    from wirefence.fuzz.coverage.entry import main

    main(__file__)
