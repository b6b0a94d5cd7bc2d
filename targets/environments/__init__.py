"""Libraries in environments of their own, each behind a worker that speaks one protocol."""

from targets.environments.prepare import prepare
from targets.environments.process import Pending, Worker
from targets.environments.records import KINDS, Context, Facts, Kind, Observation, Usage
from targets.environments.sides import Side

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
    "prepare",
]
