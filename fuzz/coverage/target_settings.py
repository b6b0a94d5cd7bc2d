"""Settings that `wirefence fuzz` passes to a libFuzzer target in an environment variable.

The command line of a target belongs to libFuzzer and to who runs it, for example ClusterFuzz.
Without settings a target does what OSS-Fuzz expects: it raises on a finding.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wirefence.fuzz.errors import UsageError

__all__ = ["VARIABLE", "TargetSettings", "encode_settings", "read_settings"]

VARIABLE = "WIREFENCE_FUZZ"


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """How a target behaves.

    ``out`` is the store for findings (empty: the first new one is raised, which libFuzzer reports
    as a crash). ``marker`` is the file for the input in flight. ``targets`` are named as on the
    command line. ``known`` are signatures that are not new. ``plain`` disables mutator, dictionary
    words and behaviours: unmodified libFuzzer.
    """

    out: str = ""
    marker: str = ""
    targets: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    plain: bool = False


def encode_settings(given: TargetSettings) -> dict[str, str]:
    """Return the environment variable with the settings."""
    return {VARIABLE: json.dumps(asdict(given))}


def read_settings(variables: Mapping[str, str] = os.environ) -> TargetSettings:
    """Read the settings from the environment; defaults if there are none. Raises UsageError."""
    text = variables.get(VARIABLE)
    if not text:
        return TargetSettings()
    try:
        said: dict[str, Any] = json.loads(text)
        said |= {name: tuple(map(str, said.get(name, ()))) for name in ("targets", "known")}
        return TargetSettings(**said)
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{VARIABLE} has no valid settings", "unset it") from error
