"""Makes servers of tests start fast: they need the contract, and not the grammar beside it.

Importing anything of ``strategies`` imports all of its grammar, which takes longer than the rest of
a server's start, and the tests of the gate start servers by the hundred.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]

sys.path.insert(0, str(ROOT / "src"))
package = ModuleType("wirefence.strategies")
package.__path__ = [str(ROOT / "strategies")]
sys.modules["wirefence.strategies"] = package
