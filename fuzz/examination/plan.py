"""Turn target names of the command line into targets.

A plan is plain data, so that a worker process builds the same targets from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.examination.installed_quirks import installed_quirks
from wirefence.strategies.contract import Policy, Profile
from wirefence.strategies.records import VERSIONS, Version
from wirefence.targets.errors import TargetError
from wirefence.targets.gateway.session import factory
from wirefence.targets.harness import load_factory
from wirefence.targets.parsers.configs import BY_NAME, CONFIGS, STRICT, ParserConfig
from wirefence.targets.planted import BY_NAME as PLANTED
from wirefence.targets.records import GatewayFactory

__all__ = ["DEFAULT_TARGETS", "Plan", "build_examiner", "load_known_quirks", "target_names"]

DEFAULT_TARGETS = ("parsers", "gateway", "reference", "reference/spec")
_SPEC = "/spec"
POLICIES: tuple[Policy, ...] = ("close", "continue")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: target names as given by the user, the seed, and the protocol versions.

    ``profile`` is the profile of all gateways except those named ``NAME/spec``.
    """

    targets: tuple[str, ...] = DEFAULT_TARGETS
    seed: int = 0
    versions: tuple[Version, ...] = VERSIONS
    profile: Profile = "strict"


def build_examiner(plan: Plan) -> Examiner:
    """Return an examiner with the targets of a plan. Raises UsageError for an unknown name."""
    parsers: dict[str, ParserConfig] = {}
    gateways: list[Sequence[GatewayTarget]] = []
    for name in plan.targets:
        if name == "parsers":
            parsers.update((config.name, config) for config in CONFIGS)
        elif name in BY_NAME:
            parsers[name] = BY_NAME[name]
        else:
            gateways += _make_gateways(name, plan.profile)
    # Where no parser is judged, none needs to be probed.
    return Examiner(list(parsers.values()), gateways, load_known_quirks() if parsers else {})


def load_known_quirks() -> dict[str, frozenset[str]]:
    """Return the known divergences of each installed parser. Raises UsageError."""
    return dict(installed_quirks().known)


def _make_gateways(name: str, profile: Profile) -> list[Sequence[GatewayTarget]]:
    if name.endswith(_SPEC):
        name, profile = name.removesuffix(_SPEC), "spec"
    if name == "reference":
        return [both_policies(name, factory(), profile)]
    if name == "gateway":
        return [
            both_policies(f"gateway/{config.name}", factory(parse=config.parse), profile)
            for config in STRICT
        ]
    family, _, fault = name.partition(":")
    if family == "planted":
        if fault not in PLANTED:
            raise UsageError(f"there is no planted fault {fault!r}", "see docs/planted.md")
        planted = PLANTED[fault]
        return [
            [GatewayTarget(_name_target(name, profile), planted.factory, planted.policy, profile)]
        ]
    if ":" not in name:
        raise UsageError(
            f"there is no target {name!r}",
            "name parsers, gateway, reference, a parser of docs/parsers.md, planted:NAME or "
            "module:factory",
        )
    try:
        return [both_policies(name, load_factory(name), profile)]
    except TargetError as error:
        raise UsageError(str(error.cause), str(error.hint)) from error


def both_policies(
    name: str, made: GatewayFactory, profile: Profile = "strict"
) -> list[GatewayTarget]:
    """Return the same gateway under each policy, named ``name/policy`` (and ``/spec`` if not
    strict).
    """
    return [
        GatewayTarget(_name_target(f"{name}/{policy}", profile), made, policy, profile)
        for policy in POLICIES
    ]


def _name_target(name: str, profile: Profile) -> str:
    return name if profile == "strict" else f"{name}/{profile}"


def target_names(examiner: Examiner) -> tuple[str, ...]:
    """Return the names of all targets, parsers first."""
    gateways = (target.name for group in examiner.gateways for target in group)
    return (*(f"parser:{config.name}" for config in examiner.parsers), *gateways)
