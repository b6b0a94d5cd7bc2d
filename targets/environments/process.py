"""A worker as its user sees it: asked for batches, it answers for every input, whatever dies.

A worker sends its results as they come, so an ending is already known to lie in
the few inputs behind the last result. Those go to a new process one by one, and the one that ends
it too must end a third process alone: only what an input does by itself is its outcome.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import BinaryIO

from wirefence.targets.environments.protocol import (
    DIGEST,
    Broken,
    Channel,
    Garbled,
    Reply,
    Request,
    Silent,
    digest_of,
    parse_facts,
    parse_observations,
)
from wirefence.targets.environments.records import Context, Facts, Observation, Program, Usage
from wirefence.targets.errors import TargetError

__all__ = ["Pending", "Worker"]

_START_SECONDS = 60.0
_EXIT_SECONDS = 10.0  # from the end of its pipe to the end of a process that dumps or unwinds
_TAIL = 2_000
_HINT = "docs/internals/workers.md describes the protocol of workers"
_MEMORY_MARKS = (b"memory allocation of", b"bad_alloc", b"heap out of memory", b"MemoryError")


class Worker:
    """The process of one side, started anew whenever an input ends it. Close it after use.

    Methods raise TargetError where the process does not start, ValueError for a reader or writer
    that the side has not.
    """

    def __init__(self, program: Program, context: Context) -> None:
        self.context, self.usage = context, Usage()
        wanted = asdict(program)
        self._command = [*wanted.pop("command"), json.dumps({**wanted, **asdict(context)})]
        self._process: _Process | None = None
        self.facts: Facts = self._alive().facts

    def digests(
        self,
        inputs: Sequence[bytes],
        *,
        reader: str = "",
        named: bool = True,
        project: bool = False,
    ) -> list[bytes]:
        """Eight bytes for each input: equal outcomes, equal bytes.

        The first byte is the kind (``records.KINDS``), so that acceptance can be counted.
        ``named=False`` leaves the error's type out, as between two libraries; ``project`` writes
        whole floats as integers, as against a language with one number type.
        """
        return self.begin(inputs, reader=reader, named=named, project=project).digests()

    def begin(
        self,
        inputs: Sequence[bytes],
        *,
        reader: str = "",
        named: bool = True,
        project: bool = False,
    ) -> Pending:
        """Send what :meth:`digests` takes and return at once, so that sides work side by side.

        Take the result before anything else is asked of this worker.
        """
        which = _find_index(reader, self.facts.readers)
        return Pending(self, Request(b"d", inputs, which, project, named))

    def outcomes(
        self, inputs: Sequence[bytes], *, reader: str = "", project: bool = False
    ) -> list[Observation]:
        """What the side makes of each input, in full."""
        which = _find_index(reader, self.facts.readers)
        return self._run(Request(b"o", inputs, which, project, flush=8))

    def serialize(self, values: Sequence[bytes], *, writer: str = "") -> list[Observation]:
        """What the side writes for each value, given in the canonical encoding."""
        which = _find_index(writer, self.facts.writers)
        return self._run(Request(b"s", values, which, flush=1))

    def close(self) -> None:
        """End the process; the next request would start another."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _run(self, request: Request) -> list[Observation]:
        pending = Pending(self, request)
        return [seen for part in pending.parts() for seen in _list_observations(part)]

    def _alive(self) -> _Process:
        if self._process is None:
            self._process = _Process(self._command)
        return self._process

    def _count(self, reply: Reply, before: float) -> None:
        spent = max(0.0, reply.cpu_seconds - before)
        peak = max(self.usage.peak_bytes, reply.peak_bytes)
        cpu = self.usage.cpu_seconds + spent
        self.usage = replace(self.usage, cpu_seconds=cpu, peak_bytes=peak)


class Pending:
    """A batch under way."""

    def __init__(self, worker: Worker, request: Request) -> None:
        self._worker, self._request = worker, request
        usage, size = worker.usage, sum(map(len, request.items))
        worker.usage = replace(
            usage, inputs=usage.inputs + len(request.items), bytes=usage.bytes + size
        )
        self._ended: Observation | None = None
        self._sent = self._send(request)

    def block(self) -> bytes:
        """All digests of the batch in one piece, eight bytes for each input."""
        named = self._request.named
        parts = self.parts()
        return b"".join(
            digest_of(part, named=named) if isinstance(part, Observation) else part.body
            for part in parts
        )

    def digests(self) -> list[bytes]:
        """One digest for each input."""
        block = self.block()
        return [block[at : at + DIGEST] for at in range(0, len(block), DIGEST)]

    def parts(self) -> list[Reply | Observation]:
        """Replies in order; an observation stands for an input that ended the process."""
        items = self._request.items
        parts = self._gather(self._sent, len(items))
        while (done := _count_results(parts)) < len(items):
            parts += self._narrow(items[done : done + self._request.flush])
            done = _count_results(parts)
            if done < len(items):
                parts += self._gather(
                    self._ask(items[done:], self._request.flush), len(items) - done
                )
        return parts

    def _narrow(self, suspects: Sequence[bytes]) -> list[Reply | Observation]:
        """Results of the suspects, up to and with the one that ends a process by itself."""
        parts = self._gather(self._ask(suspects, 1), len(suspects))
        done = _count_results(parts)
        if done < len(suspects):
            alone = self._gather(self._ask(suspects[done : done + 1], 1), 1)
            if not alone and self._ended is not None:
                return [*parts, self._ended]
            parts += alone
        self._worker.usage = replace(self._worker.usage, unsteady=self._worker.usage.unsteady + 1)
        return parts

    def _ask(self, items: Sequence[bytes], flush: int) -> bool:
        return self._send(replace(self._request, items=items, flush=flush))

    def _send(self, request: Request) -> bool:
        try:
            self._worker._alive().channel.send(request.encoded(), self._worker.context.deadline)
        except (Silent, Broken) as error:
            self._end(error)
            return False
        return True

    def _gather(self, sent: bool, count: int) -> list[Reply | Observation]:
        """Replies until ``count`` results are there or the process has ended."""
        parts: list[Reply | Observation] = []
        done, cpu = 0, 0.0
        while sent and done < count:
            try:
                reply = self._worker._alive().channel.reply(self._worker.context.deadline)
                self._check(reply, count - done)
            except (Silent, Broken) as error:
                self._end(error)
                break
            self._worker._count(reply, cpu)
            parts.append(reply)
            done, cpu = done + reply.count, reply.cpu_seconds
        return parts

    def _check(self, reply: Reply, most: int) -> None:
        whole = self._request.operation != b"d" or len(reply.body) == DIGEST * reply.count
        if not 0 < reply.count <= most or not whole:
            raise Garbled
        if self._request.operation != b"d":
            parse_observations(reply)

    def _end(self, error: Silent | Broken) -> None:
        process = self._worker._alive()
        self._ended = process.ending(error)
        self._worker.close()
        usage = self._worker.usage
        self._worker.usage = replace(usage, restarts=usage.restarts + 1)


def _list_observations(part: Reply | Observation) -> list[Observation]:
    return [part] if isinstance(part, Observation) else parse_observations(part)


def _count_results(parts: Sequence[Reply | Observation]) -> int:
    return sum(1 if isinstance(part, Observation) else part.count for part in parts)


def _find_index(name: str, names: Sequence[str]) -> int:
    if not name and names:
        return 0
    if name not in names:
        raise ValueError(f"no {name or 'writer'!r} here; there are {', '.join(names) or 'none'}")
    return names.index(name)


class _Process:
    """One started process; it has said hello."""

    def __init__(self, command: Sequence[str]) -> None:
        self._stderr: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - end() closes it
        try:
            self._popen = subprocess.Popen(  # noqa: S603 - the command that prepare_side() made
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                start_new_session=True,  # an interrupt at the terminal is for the parent alone
            )
        except OSError as error:
            self._stderr.close()
            reason = error.strerror or type(error).__name__
            raise TargetError(f"cannot run {command[0]}: {reason}", "check the path") from error
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self.channel = Channel(self._popen.stdin.fileno(), self._popen.stdout.fileno())
        try:
            self.facts = parse_facts(self.channel.frame(_START_SECONDS))
        except ValueError as error:
            self.end()
            raise TargetError(f"a worker of {command[0]} cannot work: {error}", _HINT) from error
        except (Silent, Broken) as error:
            ending = self.ending(error)
            self.end()
            last = ending.message.strip().rpartition("\n")[2] or ending.error
            raise TargetError(f"a worker of {command[0]} ended at once: {last}", _HINT) from error

    def ending(self, error: Exception) -> Observation:
        """What the end of this process says, as an outcome of the input that caused it."""
        if isinstance(error, Silent):
            return Observation("hang", error="timeout")
        if isinstance(error, Garbled):
            return Observation("death", error="protocol")
        try:
            code = self._popen.wait(timeout=_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            return Observation("death", error="protocol")
        size = self._stderr.seek(0, 2)
        self._stderr.seek(max(0, size - _TAIL))
        tail = self._stderr.read()
        cause = signal.Signals(-code).name if code < 0 else f"exit {code}"
        memory = any(mark in tail for mark in _MEMORY_MARKS)
        return Observation(
            "memory" if memory else "death", error=cause, message=tail.decode(errors="replace")
        )

    def end(self) -> None:
        """End the process and wait for it; twice does no harm."""
        self._popen.kill()
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout, self._stderr):
            if stream is not None:
                with suppress(BrokenPipeError):  # what the dead process left unread
                    stream.close()
