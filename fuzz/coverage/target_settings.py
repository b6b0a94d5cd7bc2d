"""What `wirefence fuzz` tells the process of a libFuzzer target, through its environment.

The key insight: a target's command line belongs to libFuzzer and to whoever runs it, ClusterFuzz
included; without any orders a target therefore does what OSS-Fuzz expects: it raises.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wirefence.fuzz.errors import UsageError

__all__ = ["VARIABLE", "Orders", "environment", "orders"]

VARIABLE = "WIREFENCE_FUZZ"


@dataclass(frozen=True, slots=True)
class Orders:
    """How a target behaves.

    ``out`` is the store that findings are saved to (empty: the first new one is raised, as a crash
    of libFuzzer's). ``marker`` is the file for the input that runs. ``targets`` are named as on the
    command line. ``known`` are signatures that are no news. ``plain`` leaves out mutator,
    dictionary words and behaviours: libFuzzer as it comes.
    """

    out: str = ""
    marker: str = ""
    targets: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    plain: bool = False


def environment(given: Orders) -> dict[str, str]:
    """The variable that says ``given``."""
    return {VARIABLE: json.dumps(asdict(given))}


def orders(variables: Mapping[str, str] = os.environ) -> Orders:
    """The orders in the environment, default ones where there are none. Raises UsageError."""
    text = variables.get(VARIABLE)
    if not text:
        return Orders()
    try:
        said: dict[str, Any] = json.loads(text)
        said |= {name: tuple(map(str, said.get(name, ()))) for name in ("targets", "known")}
        return Orders(**said)
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{VARIABLE} holds no orders", "unset it") from error
