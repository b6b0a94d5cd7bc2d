"""The zoo: deliberately wrong gateways that prove that every oracle bites.

``PLANTED`` are the faults, ``BY_NAME`` finds one, ``HEALTHY`` is the base that they are planted in,
in which nothing must be found. ``render`` makes their page.
"""

from __future__ import annotations

from wirefence.targets.planted import acting, answering, document, wire
from wirefence.targets.planted.base import MiniGateway
from wirefence.targets.planted.records import Planted
from wirefence.targets.planted.registry import planted_in, render

__all__ = ["BY_NAME", "HEALTHY", "PLANTED", "MiniGateway", "Planted", "render"]

HEALTHY = Planted(
    name="healthy",
    title="The base of all faults, which has none.",
    origin="docs/contract.md, strict profile",
    breaks=(),
    policy="close",
    version="2025-11-25",
    factory=MiniGateway,
)

PLANTED: tuple[Planted, ...] = tuple(
    fault for module in (wire, document, acting, answering) for fault in planted_in(module.__name__)
)

BY_NAME: dict[str, Planted] = {fault.name: fault for fault in (HEALTHY, *PLANTED)}
