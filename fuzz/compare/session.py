"""One whole comparison, from prepared sides to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from wirefence.fuzz.compare.corpus import traffic
from wirefence.fuzz.compare.input_schedule import Origin
from wirefence.fuzz.compare.report import Report, SideFacts, compared
from wirefence.fuzz.compare.run import Budget, Explorer, Tally
from wirefence.fuzz.compare.serialization import Writings, written
from wirefence.fuzz.compare.sides import Team, forms, team
from wirefence.fuzz.compare.speed import Speed, documents, measure
from wirefence.targets.environments import Side

__all__ = ["Request", "compare"]

_WORDS = 400
_TIMED = 600


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: sides, budget, inputs. ``only`` inputs, where given, are all that is run.

    ``command`` is the command line that asks for the same.
    """

    sides: tuple[Side, ...]
    budget: Budget
    origin: Origin
    only: Sequence[bytes] = ()
    command: str = ""


def compare(request: Request, told: Callable[[Tally, int], None]) -> Report:
    """Run a comparison. Raises TargetError where a side does not start, UsageError for inputs."""
    mined = chain.from_iterable(islice(side.strings(), _WORDS) for side in request.sides)
    origin = replace(request.origin, words=tuple(dict.fromkeys(mined)))
    speeds = [] if request.only else _speeds(request)
    with team(request.sides, request.budget.lanes) as hired:
        explorer = Explorer(hired, request.budget, told)
        if request.only:
            explorer.only(request.only)
        else:
            explorer.run(origin)
        pairs = [
            compared(explorer, pair, _written(request, hired, pair.old, pair.new))
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
                    hired.usage(at),
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


def _written(request: Request, hired: Team, old: int, new: int) -> Writings | None:
    return None if request.only else written(hired, old, new)


def _speeds(request: Request) -> list[Speed]:
    yours = list(islice(traffic(request.origin.corpus), _TIMED))
    return measure(request.sides, forms(request.sides)[0], documents(yours))
