"""Many trials in one living server: pipelined for speed, one at a time where that is in doubt.

The key insight: this is a screen and no verdict. Every name and id is a trial's own, so most of
what comes back can be told apart whatever its order. Where something comes back that bears no name,
the trials that it may belong to are sent again, alone; and whatever looks wrong is run again in a
fresh process by others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from fuzz.gate.lab import Key, Lab, Ready, Replies, Watched, responses, spelled
from fuzz.gate.records import Facts, Seen
from fuzz.gate.wire import INITIALIZED, STATELESS, Names, initialize, numbers_in, tokens_in
from oracles.transcript_judge import judge_reply
from targets.command.session import answered_ids
from targets.effects.records import Observed
from targets.errors import TargetError

__all__ = ["Warm"]

_WINDOW = 64
_LINGER = 0.02
_LEAST_QUIET, _MOST_QUIET = 0.25, 1.0
_LONG = 65_536


@dataclass(frozen=True, slots=True)
class _Stray:
    """A line that bears no name, the rule that it breaks, and the trial that it stands before."""

    line: bytes
    rule: str
    at: int


@dataclass(slots=True)
class _Window:
    """Trials in flight, the ids that they wait for, and what has come for each.

    Where sentinels are answered in the order of their trials, a line without a name stands between
    those of two trials, and ``passed`` says which: the trials whose sentinels have been answered.
    """

    trials: Sequence[Ready]
    lines: dict[int, list[bytes]] = field(default_factory=dict)
    stray: list[_Stray] = field(default_factory=list)
    fences: dict[Key, int] = field(default_factory=dict)
    passed: int = 0
    ordered: bool = True
    owed: dict[Key, int] = field(default_factory=dict)
    missing: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        for at, each in enumerate(self.trials):
            self.lines[each.trial.number] = []
            self.fences.update(dict.fromkeys(_last_ids(each), at))
            self.owed.update(dict.fromkeys(_warm_ids(each), each.trial.number))
        self.missing.update(self.owed)

    def take(self, line: bytes, keys: set[Key]) -> bool:
        """Keep a line if it belongs to a trial of this window; say whether it does."""
        owner = self.owner(line, keys)
        if owner is not None:
            self.missing -= keys
            self.lines[owner].append(line)
            for key in keys & self.fences.keys():
                self.ordered &= self.fences[key] >= self.passed
                self.passed = self.fences[key] + 1
        return owner is not None

    def keep(self, line: bytes, rule: str) -> None:
        """Keep a line that bears no name, with its place."""
        self.stray.append(_Stray(line, rule, min(self.passed, len(self.trials) - 1)))

    def owner(self, line: bytes, keys: Iterable[Key]) -> int | None:
        """The number of the trial that a line belongs to, by the name in it or the id it answers.

        A good request may have an id of any spelling; only what nobody is owed has no owner.
        """
        named = (number for number in numbers_in(line) if number in self.lines)
        owed = (self.owed[key] for key in keys if key in self.owed)
        return next(chain(named, owed), None)


def _warm_ids(prepared: Ready) -> set[Key]:
    """The ids that a trial waits for in a session that has had its handshake."""
    opening = prepared.trial.opening
    return {
        (type(name), name)
        for frame in prepared.judgement.frames
        if frame.start >= opening
        for name in frame.ids
        if (type(name), name) in prepared.owed
    }


def _last_ids(prepared: Ready) -> set[Key]:
    """The id of the sentinel, where it is a request of its own."""
    last = prepared.judgement.frames[-1:]  # shrinking may have left nothing at all
    return {(type(name), name) for frame in last for name in frame.ids} & prepared.owed


def _apart(prepared: Ready) -> bool:
    """Whether a trial needs the server for itself: it asks for pauses, or takes megabytes."""
    return bool(prepared.trial.case.cuts) or len(prepared.trial.case.data) > _LONG


def _foreign(prepared: Ready) -> set[Key]:
    """Ids that are owed a reply and bear no name of ours: a session may have each but once."""
    return {key for key in _warm_ids(prepared) if not tokens_in(spelled(key))}


def _nameless(prepared: Ready) -> bool:
    """Whether what a bad frame brings about may bear no name of ours: it has no id that we gave."""
    trial, data = prepared.trial, prepared.trial.case.data
    frames = prepared.judgement.frames
    bad = [f for f in frames if f.start >= trial.opening and not f.accepted]
    return any(
        not tokens_in(data[f.start : f.end]) or (not f.ids and f.layer == "rpc") for f in bad
    )


class Warm:
    """One living server after another, for trials that can share one."""

    def __init__(self, lab: Lab, facts: Facts) -> None:
        self._lab, self._facts = lab, facts
        self._watched: Watched | None = None
        # Who is slow to start is slow to answer, on a busy machine above all.
        self._quiet = min(_MOST_QUIET, max(_LEAST_QUIET, facts.startup))
        self._late: Callable[[], bool] = lambda: False
        self._read = 0
        self._flying: list[_Window] = []
        self._used: set[Key] = set()
        self._noise: set[str] = set()
        self._effects: dict[int, list[Observed]] = {}
        self.frames = 0

    def close(self) -> None:
        """End the living server."""
        if self._watched is not None:
            self._watched.stop()
            self._watched = None
            self._flying.clear()
            self._used.clear()

    def open(self) -> None:
        """Have a server ready. Raises TargetError."""
        self._living()

    def _living(self) -> Watched:
        """The living server, or a fresh one that has had its handshake. Raises TargetError."""
        if self._watched is None:
            self._watched = self._lab.fresh()
            self._greet(self._watched)
        return self._watched

    def _greet(self, watched: Watched) -> None:
        session, version = watched.session, self._facts.version
        if version != STATELESS:
            ident = Names(0).ident("h")
            session.send(initialize(b'"%b"' % version.encode(), ident).raw)
            patience = self._lab.options.start_patience
            if not session.wait_for([ident.strip(b'"')], patience):
                self.close()
                raise TargetError(
                    f"a fresh server answered no initialize within {patience:g} s, though one did "
                    "before",
                    "see whether its start depends on what another left behind",
                )
            session.send(INITIALIZED.raw)
        self._read = len(session.lines)

    def screen(
        self, trials: Iterable[Ready], late: Callable[[], bool]
    ) -> Iterator[tuple[Ready, Seen]]:
        """What was seen of each trial, in no fixed order, until ``late``. Raises TargetError.

        The next window is on its way while the replies to the last one are read.
        """
        self._late = late
        pending = _Window(())
        source, later = iter(trials), []
        while not late() and (batch := list(islice(source, _WINDOW))):
            apart = [each for each in batch if _apart(each)]
            reusing = [each for each in batch if each not in apart and self._reuses(each)]
            later += reusing
            window = _Window([each for each in batch if each not in apart and each not in reusing])
            self._send(window)
            again = yield from self._settle(pending)
            if again or apart:
                if self._watched is not None:
                    again += yield from self._settle(window)
                else:
                    # What was behind a server that fell silent was never read: it is sent again.
                    again += window.trials
                window = _Window(())
                yield from self.one_by_one([*again, *apart])
            pending = window
        yield from self.one_by_one((yield from self._settle(pending)))
        if later and not late():
            self.close()  # the next server has not had their ids
            yield from self.screen(later, late)

    def _reuses(self, prepared: Ready) -> bool:
        """Whether the living session has had one of the ids; if not, now it has."""
        ids = _foreign(prepared)
        if ids & self._used:
            return True
        self._used |= ids
        return False

    def _send(self, window: _Window) -> None:
        if window.trials:
            parts = [each.trial.case.data[each.trial.opening :] for each in window.trials]
            self.frames += sum(part.count(b"\n") for part in parts)
            self._living().session.send(b"".join(parts))
            self._flying.append(window)

    def _settle(self, window: _Window) -> Generator[tuple[Ready, Seen], None, list[Ready]]:
        """Wait for the window's replies; give what is certain, return what must be run again."""
        if not window.trials:
            return []
        self._gather(self._living(), window)
        silent = {window.owed[key] for key in window.missing}
        self._flying.remove(window)
        if window.trials[-1].trial.number in silent:
            self.close()  # not even the last sentinel was answered
        suspects = self._suspects(window)
        again = [t for t in window.trials if t.trial.number in silent or t in suspects]
        for each in window.trials:
            if each not in again:
                number = each.trial.number
                effects = tuple(self._effects.pop(number, ()))
                lines = tuple(window.lines[number])
                yield each, Seen(lines, effects=effects, since=each.trial.opening)
        return again

    def _suspects(self, window: _Window) -> list[Ready]:
        """Trials that a line without a name may come from.

        A result comes from one whose frame has no id of ours; what is no message from any, but
        where a server writes the same kind of it again and again, once is enough. A result that
        stands right where such a trial's would is taken for its own: a fresh process will tell.
        """
        again: list[Ready] = []
        for stray in window.stray:
            near = window.trials[max(0, stray.at - 1) : stray.at + 1]
            if stray.rule and stray.rule not in self._noise:
                again += near if window.ordered else window.trials
            elif not stray.rule and window.ordered and _nameless(window.trials[stray.at]):
                window.lines[window.trials[stray.at].trial.number].append(stray.line)
            elif not stray.rule:
                again += filter(_nameless, window.trials)
        self._noise |= {stray.rule for stray in window.stray}
        return list({each.trial.number: each for each in again}.values())

    def _gather(self, watched: Watched, window: _Window) -> None:
        """Take in what comes until a window has all its replies.

        Once the last trial is answered and nothing more comes, what is missing is not waited for:
        it is asked for again, alone and with all patience.
        """
        session, missing = watched.session, window.missing
        last = {key for key in missing if window.owed[key] == window.trials[-1].trial.number}
        heard = time.monotonic()

        def done() -> bool:
            nonlocal heard
            session.collect()
            if len(session.lines) > self._read:
                heard = time.monotonic()
            for line in session.lines[self._read :]:
                self._sort(line)
            self._read = len(session.lines)
            quiet = time.monotonic() - heard > self._quiet and not missing & last
            return not missing or quiet

        session.process.pump_until(done, self._lab.options.patience)
        for effect in watched.recording.take():
            # The next window is on its way: some of it may have acted already.
            for number in {*numbers_in(effect.detail), *numbers_in(effect.content)}:
                self._effects.setdefault(number, []).append(effect)

    def _sort(self, line: bytes) -> None:
        """Put a line to the trial whose name it has; what has none is harmless, or a stray.

        A line may be of any window that is in flight. A reply that carries an id of ours is led
        home by that alone; what it says is judged when its trial is.
        """
        named: set[Key] = {(str, ident.decode()) for ident in answered_ids(line)}
        if any(named & w.owed.keys() and w.take(line, named) for w in self._flying):
            return
        verdict = judge_reply(line, self._facts.version)
        answered = list(responses(verdict))
        keys = {(type(r.id), r.id) for r in answered if r.id is not None}
        if any(window.take(line, keys) for window in self._flying):
            return
        if verdict.rule not in ("", "mcp-method") or any(r.is_result for r in answered):
            self._flying[0].keep(line, verdict.rule)

    def one_by_one(self, trials: Iterable[Ready]) -> Iterator[tuple[Ready, Seen]]:
        """What was seen of each trial, sent alone to a living server. Raises TargetError."""
        for each in trials:
            if self._late():  # each may cost all of one's patience
                return
            yield each, self.alone(each)

    def alone(self, prepared: Ready, patience: float | None = None) -> Seen:
        """One trial, alone in a living server; a server that it spoils is not used again."""
        if self._reuses(prepared):
            self.close()
            self._used |= _foreign(prepared)
        watched = self._living()
        session, trial = watched.session, prepared.trial
        watched.recording.take()
        session.collect()
        begun, replies = len(session.lines), Replies(session, trial.case.version)
        cuts = [cut - trial.opening for cut in trial.case.cuts if cut > trial.opening]
        data = trial.case.data[trial.opening :]
        session.send(data, cuts)
        self.frames += data.count(b"\n")
        complete = self._wait(prepared, replies, patience or self._lab.options.patience)
        session.linger(_LINGER)
        answers = complete or bool(_last_ids(prepared) & replies.keys)
        alive = answers and not session.process.gone
        seen = Seen(
            tuple(session.lines[begun:]),
            session.tail,
            tuple(watched.recording.take()),
            complete,
            alive or not session.process.gone,
            "exited" if session.process.gone else "open",
            "exit" if session.process.gone else "",
            peak_bytes=session.process.measure(),
            since=trial.opening,
        )
        self._read = len(session.lines)
        if not alive or seen.tail or any(not line.startswith((b"{", b"[")) for line in seen.lines):
            self.close()
        return seen

    def _wait(self, prepared: Ready, replies: Replies, patience: float) -> bool:
        """Wait for every reply; one that is not there a while after the sentinel's is not waited
        for: a fresh process will be given all the time.
        """
        wanted, last, since = _warm_ids(prepared), _last_ids(prepared), [0.0]

        def done() -> bool:
            keys = replies.look()
            if last & keys and not since[0]:
                since[0] = time.monotonic()
            return wanted <= keys or (bool(since[0]) and time.monotonic() - since[0] > self._quiet)

        assert self._watched is not None
        self._watched.session.process.pump_until(done, patience)
        return wanted <= replies.keys
