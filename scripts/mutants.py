"""Change the reference gateway in one place, and see whether the default campaign notices.

``python -m scripts.mutants``, from a checkout. A change is a comparison with another operator, a
condition negated, ``and`` and ``or`` exchanged, a constant changed by one, or a return of ``None``.
A changed module is compiled in memory, in a process of its own: nothing is written into the tree.
"""

from __future__ import annotations

import ast
import copy
import importlib.abc
import importlib.machinery
import multiprocessing
import os
import random
import resource
import signal
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import click

from wirefence.fuzz.errors import NOTHING, USAGE
from wirefence.fuzz.examination import plan as _plan  # the parsers are imported once, for all
from wirefence.fuzz.examination.cases import generate_block
from wirefence.strategies.records import Case

__all__ = ["Mutant", "Result", "choose_mutants", "list_mutants", "read_sources", "try_mutants"]

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "wirefence.targets.gateway"
FOLDER = ROOT / "targets" / "gateway"
PLAN = _plan.__name__

_UNREAD = ("__main__", "journal")
"""Modules that no answer and no effect depends on: the process around a gateway, and its log."""

_MOST_SECONDS = 120.0
"""Processor time for one mutant, ten times that of the unchanged gateway: the others do not end."""

_MOST_MEMORY = 4 << 30
"""Bytes of address space for one mutant."""

Sources = dict[str, str]
"""The text of each module of the gateway, by its name within the package."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: ``number`` is its place among those of ``module``, counted from 0."""

    module: str
    line: int
    change: str
    number: int

    @property
    def place(self) -> str:
        """File and line, as in ``tools.py:23``."""
        return f"{self.module}.py:{self.line}"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a mutant: the signature of the first finding, or ``""``, after so many cases."""

    mutant: Mutant | None
    finding: str
    cases: int

    @property
    def starts(self) -> bool:
        """Whether the changed gateway could be imported at all."""
        return self.finding != _DEAD


_DEAD = "no start"

_Replace = Callable[[ast.AST], None]
"""Makes a change in a copy of the tree, given the node that is to be changed."""

_Change = tuple[ast.AST, str, _Replace]


def read_sources() -> Sources:
    """Return the text of every module of the reference gateway."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}


def list_mutants(sources: Mapping[str, str]) -> list[Mutant]:
    """Return all mutants of a gateway, in the order of its modules and lines."""
    return [
        Mutant(module, node.lineno, said, number)  # type: ignore[attr-defined]
        for module, text in sources.items()
        if module not in _UNREAD
        for number, (node, said, _) in enumerate(_list_changes(ast.parse(text)))
    ]


def choose_mutants(every: Sequence[Mutant], seed: int) -> list[Mutant]:
    """Return ``every`` mutant in the order that ``seed`` gives: any number of the first is fair."""
    return random.Random(seed).sample(every, len(every))


def _list_changes(tree: ast.AST) -> list[_Change]:
    return [change for node in _walk(tree) for change in _changes_of(node)]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that can be seen at run time, in the order of the text."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        children = value if isinstance(value, list) else [value]
        if isinstance(node, ast.Call) and name == "args" and _takes_a_label(node.func):
            children = children[1:]
        for child in children:
            if isinstance(child, ast.AST) and not _is_text_alone(child):
                yield from _walk(child)


def _is_exported(node: ast.AST) -> bool:
    """Whether a statement sets ``__all__``."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _takes_a_label(function: ast.expr) -> bool:
    """Whether the first argument is the text of an error, or a rule, which the journal notes."""
    name = ast.unparse(function)
    return name.endswith(("Error", "._break", "journal.reject", "journal.execute"))


def _is_text_alone(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or names what the package exports."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or _is_exported(node)


def _changes_of(node: ast.AST) -> Iterator[_Change]:
    """Yield the changes of one node itself; its children have their own."""
    if isinstance(node, ast.Compare):
        yield from _other_comparisons(node)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _make_change(node, _Setting("op", other))
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield from _negations(node, node.test)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _make_change(node, _Setting("op", ast.UAdd()), said=ast.unparse(node.operand))
    elif isinstance(node, ast.Return) and not _is_none(node.value):
        yield _make_change(node, _Setting("value", ast.Constant(None)))
    elif isinstance(node, ast.Constant):
        for value in _neighbours(node.value):
            yield _make_change(node, _Setting("value", value))


class _Setting:
    """Sets a field of a node, or one place of a field that is a list."""

    def __init__(self, field: str, value: object, at: int | None = None) -> None:
        self._field, self._value, self._at = field, value, at

    def __call__(self, node: Any) -> None:
        if self._at is None:
            setattr(node, self._field, self._value)
        else:
            getattr(node, self._field)[self._at] = self._value


def _make_change(node: ast.AST, change: _Replace, said: str = "") -> _Change:
    changed = copy.deepcopy(node)
    change(changed)
    old, new = (_show(ast.unparse(each)) for each in (node, changed))
    return node, f"{old}  ->  {said or new}", change


def _show(text: str) -> str:
    """The first line of a text, cut where it is long."""
    line = text.partition("\n")[0]
    return line if len(line) <= 90 else line[:87] + "..."


_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


def _other_comparisons(node: ast.Compare) -> Iterator[_Change]:
    for at, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            yield _make_change(node, _Setting("ops", other(), at))


def _negations(node: ast.AST, test: ast.expr) -> Iterator[_Change]:
    """Yield a negated condition, unless a change of what it consists of says the same."""
    compared = isinstance(test, ast.Compare) and len(test.ops) == 1
    if not compared and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
        old = _show(ast.unparse(test))
        change = _Setting("test", ast.UnaryOp(ast.Not(), test))
        yield node, f"if {old}  ->  if not ({old})", change


def _neighbours(value: object) -> tuple[object, ...]:
    """Constants next to one: a number below and above it, a text with another last character."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, (int, float)):
        return (value + 1, value - 1)
    if isinstance(value, str) and value:
        return (value[:-1] + chr(ord(value[-1]) + 1),)
    if isinstance(value, bytes) and value:
        return (value[:-1] + bytes([(value[-1] + 1) % 256]),)
    return ()


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


class _Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of a gateway in memory, one of them changed."""

    def __init__(self, sources: Mapping[str, str], mutant: Mutant | None) -> None:
        self._trees = {name: ast.parse(text) for name, text in sources.items()}
        if mutant is not None:
            node, _, change = _list_changes(self._trees[mutant.module])[mutant.number]
            change(node)
            ast.fix_missing_locations(self._trees[mutant.module])

    def find_spec(
        self, fullname: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of the gateway; of others nothing."""
        del path, target
        name = fullname.removeprefix(PACKAGE).removeprefix(".") or "__init__"
        if not fullname.startswith(PACKAGE) or name not in self._trees:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=name == "__init__")

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module from its tree."""
        name = module.__name__.removeprefix(PACKAGE).removeprefix(".") or "__init__"
        exec(compile(self._trees[name], f"<{name}>", "exec"), module.__dict__)  # noqa: S102 - our own text


def _run_campaign(sources: Mapping[str, str], mutant: Mutant | None, cases: list[Case]) -> Result:
    """Run cases through the gateways of the default plan, up to the first finding.

    Must be called in a process of its own: it replaces modules.
    """
    for name in list(sys.modules):
        if name == PLAN or name.startswith(PACKAGE):
            del sys.modules[name]
    sys.meta_path.insert(0, _Modules(sources, mutant))
    try:
        plan: Any = importlib.import_module(PLAN)
        # Parsers read no module of the gateway: what they show is no concern of a mutant.
        targets = tuple(name for name in plan.DEFAULT_TARGETS if name != "parsers")
        examiner = plan.build_examiner(plan.Plan(targets))
    except Exception:  # noqa: BLE001 - whatever a changed module raises
        return Result(mutant, _DEAD, 0)
    for index, case in enumerate(cases):
        try:
            found = examiner.examine_case(case, index)
        except Exception as error:  # noqa: BLE001 - a campaign stops there with a message
            return Result(mutant, f"the campaign stops: {type(error).__name__}", index + 1)
        if found:
            return Result(mutant, str(found[0].signature), index + 1)
    return Result(mutant, "", len(cases))


def _work(
    out: Connection,
    sources: Mapping[str, str],
    mutant: Mutant | None,
    cases: list[Case],
    seconds: float,
) -> None:
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        sys.stderr = nowhere
        # What is not caught ends the process; wall time would depend on what else runs here.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        out.send(_run_campaign(sources, mutant, cases))


@dataclass(slots=True)
class _Job:
    mutant: Mutant | None
    process: BaseProcess


def try_mutants(
    sources: Mapping[str, str],
    mutants: Sequence[Mutant | None],
    cases: list[Case],
    workers: int = 1,
    seconds: float = _MOST_SECONDS,
) -> Iterator[Result]:
    """Yield what comes of each mutant, as it comes; ``None`` is the unchanged gateway.

    Each has ``seconds`` of processor time in a process of its own; one that needs more is found.
    """
    context = multiprocessing.get_context("fork")
    waiting, jobs = list(mutants)[::-1], dict[Connection, _Job]()
    while waiting or jobs:
        while waiting and len(jobs) < workers:
            mutant = waiting.pop()
            mine, theirs = context.Pipe(duplex=False)
            work = (theirs, sources, mutant, cases, seconds)
            process = context.Process(target=_work, args=work)
            process.start()
            theirs.close()
            jobs[mine] = _Job(mutant, process)
        for pipe in wait(list(jobs)):
            assert isinstance(pipe, Connection)
            yield _end_job(pipe, jobs.pop(pipe))


def _end_job(pipe: Connection, job: _Job) -> Result:
    try:
        result: Result = pipe.recv()
    except EOFError:
        job.process.join()
        late = job.process.exitcode == -signal.SIGPROF
        result = Result(job.mutant, "no end in time" if late else "the process ends", 0)
    job.process.join()
    pipe.close()
    return result


def _generate_cases(seed: int, count: int) -> list[Case]:
    blocks = (case for number in range(count) for case in generate_block(seed, number))
    return list(islice(blocks, count))


def _select(every: Sequence[Mutant], places: Sequence[str], seed: int) -> list[Mutant]:
    chosen = choose_mutants(every, seed)
    return [each for each in chosen if each.place in places] if places else chosen


@click.command("python -m scripts.mutants")
@click.option("--seed", default=0, show_default=True, help="Of the sample and of the cases.")
@click.option("--count", default=140, show_default=True, help="Mutants to try.")
@click.option("--cases", default=2_000, show_default=True, help="Generated cases for each.")
@click.option("--workers", default=1, show_default=True, help="Processes at a time.")
@click.option("--place", "places", multiple=True, help="Only this FILE:LINE; repeatable.")
def command(seed: int, count: int, cases: int, workers: int, places: tuple[str, ...]) -> int:
    """Change the reference gateway in random places, and run the default campaign on each change.

    Prints whether each was found, and a list of those that were missed at the end. Exit 2 if the
    unchanged gateway shows anything.
    """
    sources, made = read_sources(), _generate_cases(seed, cases)
    unchanged = next(try_mutants(sources, [None], made, seconds=20 * _MOST_SECONDS))
    if unchanged.finding:
        click.echo(
            f"mutants: the unchanged gateway shows {unchanged.finding} in case "
            f"{unchanged.cases - 1} of seed {seed}; mend that first",
            err=True,
        )
        return USAGE
    every = list_mutants(sources)
    results: list[Result] = []
    chosen = _select(every, places, seed)
    while chosen and len(results) < count:
        batch, chosen = chosen[: count - len(results)], chosen[count - len(results) :]
        for result in try_mutants(sources, batch, made, workers):
            if result.starts:  # one that cannot be imported is no gateway: another takes its place
                results.append(result)
                click.echo(_show_result(result))
    _print_summary(results, len(every))
    return NOTHING


def _show_result(result: Result) -> str:
    assert result.mutant is not None
    end = f"found in case {result.cases - 1}: {result.finding}" if result.finding else "missed"
    return f"{result.mutant.place}: {result.mutant.change}: {end}"


def _print_summary(results: Sequence[Result], places: int) -> None:
    missed = [each.mutant for each in results if each.mutant is not None and not each.finding]
    found = len(results) - len(missed)
    click.echo(f"\n{found} found, {len(missed)} missed, of {places:,} possible mutants")
    for mutant in sorted(missed, key=lambda each: (each.module, each.line)):
        click.echo(f"  {mutant.place}: {mutant.change}")


if __name__ == "__main__":
    sys.exit(command(standalone_mode=False))
