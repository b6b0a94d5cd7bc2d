"""Libraries in environments of their own, each behind a worker that speaks one protocol."""

from wirefence.targets.environments.prepare import prepare_side
from wirefence.targets.environments.process import Pending, Worker
from wirefence.targets.environments.records import KINDS, Context, Facts, Kind, Observation, Usage
from wirefence.targets.environments.sides import Side

__all__ = [
    "KINDS",
    "Context",
    "Facts",
    "Kind",
    "Observation",
    "Pending",
    "Side",
    "Usage",
    "Worker",
    "prepare_side",
]
