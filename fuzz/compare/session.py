"""Run one comparison, from prepared sides to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from wirefence.fuzz.compare.inputs.corpus import read_traffic
from wirefence.fuzz.compare.inputs.input_schedule import Origin
from wirefence.fuzz.compare.reports.report import Report, SideFacts, make_compared
from wirefence.fuzz.compare.run import Budget, Comparison, Tally
from wirefence.fuzz.compare.serialization import WritingResult, compare_writing
from wirefence.fuzz.compare.sides import Team, find_forms, start_team
from wirefence.fuzz.compare.speed import Speed, choose_documents, measure_speed
from wirefence.targets.environments import Side

__all__ = ["CompareRequest", "compare_sides"]

_MAX_WORDS = 400
"""Strings from each library that become inputs."""
_MAX_TIMED = 600
"""Documents of the user that are timed."""


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """The options of a comparison: sides, budget, inputs. ``only`` inputs replace all others.

    ``command`` is the command line that repeats it.
    """

    sides: tuple[Side, ...]
    budget: Budget
    origin: Origin
    only: Sequence[bytes] = ()
    command: str = ""


def compare_sides(request: CompareRequest, told: Callable[[Tally, int], None]) -> Report:
    """Run a comparison. Raises TargetError if a side does not start, UsageError for bad inputs."""
    mined = chain.from_iterable(islice(side.strings(), _MAX_WORDS) for side in request.sides)
    origin = replace(request.origin, words=tuple(dict.fromkeys(mined)))
    speeds = [] if request.only else _measure_speeds(request)
    with start_team(request.sides, request.budget.lanes) as hired:
        explorer = Comparison(hired, request.budget, told)
        if request.only:
            explorer.run_inputs(request.only)
        else:
            explorer.run(origin)
        pairs = [
            make_compared(explorer, pair, _compare_writing(request, hired, pair.old, pair.new))
            for pair in explorer.pairs
        ]
        return Report(
            tuple(
                SideFacts(
                    side.name,
                    side.label,
                    side.facts.library,
                    dict(side.versions),
                    dict(side.facts.context),
                    hired.sum_usage(at),
                    speeds[at] if speeds else None,
                )
                for at, side in enumerate(request.sides)
            ),
            tuple(pairs),
            explorer.tally,
            origin.seed,
            request.command,
            tuple(form.name for form in hired.forms),
        )


def _compare_writing(
    request: CompareRequest, hired: Team, old: int, new: int
) -> WritingResult | None:
    return None if request.only else compare_writing(hired, old, new)


def _measure_speeds(request: CompareRequest) -> list[Speed]:
    yours = list(islice(read_traffic(request.origin.corpus), _MAX_TIMED))
    return measure_speed(request.sides, find_forms(request.sides)[0], choose_documents(yours))
