"""What a server tells about itself, learnt in good sessions before anything is judged.

The key insight: a server that can't be talked to at all is no finding but a launch that failed,
and each way of failing has a sentence of its own. What it writes may be anything: of its replies
only what has the right type is taken, and what a sentence quotes of it is without secrets.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.records import Facts, Nominee, Options
from wirefence.fuzz.gate.server.declared_tools import choose, declaration
from wirefence.fuzz.gate.server.fresh import Lab, Watched
from wirefence.fuzz.gate.server.server_name import label_of
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    Names,
    initialize,
    listing,
    ping,
    tokens_in,
)
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.text import last_words
from wirefence.strategies.contract import Policy, Tool
from wirefence.strategies.records import VERSIONS, Version
from wirefence.targets.command.memory import cpu_of_group
from wirefence.targets.errors import TargetError

__all__ = ["label_of", "learn"]

_NEWEST: Version = "2025-11-25"
_LATEST: Version = "2026-07-28"
_PAGES = 20
_KINDS = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
_QUOTED = 200
_SHOWN, _READ = 80, 1 << 16
"""Bytes of stdout that are shown, and in how many secrets are looked for before they are cut."""


@dataclass(slots=True)
class _Talk:
    """A conversation with one server: ask, and get the whole reply as Python objects."""

    watched: Watched
    lab: Lab
    start_patience: float
    number: int = 0

    def ask(self, raw: bytes, ident: bytes, patience: float) -> dict[str, Any] | None:
        """The reply to a request, ``None`` where none came in time.

        Raises TargetError for a command that asks instead of answering.
        """
        session = self.watched.session
        session.send(raw)
        wanted = ident.strip(b'"')

        def done() -> bool:
            session.collect()
            return wanted in session.answered or self._asks()

        answered = session.process.pump_until(done, patience)
        if self._asks():
            raise TargetError(
                "the command is a client: it sends requests and answers none",
                "put --client before the command",
            )
        if not answered:
            return None
        name = wanted.decode()
        return next((each for each in map(_object, session.lines) if each.get("id") == name), None)

    def _asks(self) -> bool:
        """Whether the command opens a session itself, as only clients do; an echo has our ids."""
        first = next(map(_object, self.watched.session.lines), {})
        name = first.get("id")
        ours = isinstance(name, str) and bool(tokens_in(name.encode("utf-8", "replace")))
        opens = first.get("method") in ("initialize", "server/discover")
        return opens and name is not None and not ours

    def fresh_names(self) -> Names:
        self.number += 1
        return Names(self.number)

    def quoted(self, text: str) -> str:
        """What the server wrote, for a sentence."""
        return Redactor.of(self.lab.launch).brief(text, _QUOTED)

    def printed(self) -> str:
        """The beginning of stdout as a literal, ``""`` where there is none."""
        data = bytes(self.watched.session.process.stdout.data[:_READ])
        shown = Redactor.of(self.lab.launch).raw(data)[:_SHOWN]
        return repr(shown) if shown else ""


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_int=float)  # an integer may be too long for Python to read
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def learn(lab: Lab, within: float = math.inf) -> Facts:
    """Talk to a fresh server, then see how another takes a bad frame.

    ``within`` bounds the patience with its start, in seconds, to no less than that with a reply.
    Raises TargetError where the launch fails, UsageError for an option that does not fit the
    server (a tool that it hasn't, a version that it doesn't speak).
    """
    options = lab.options
    began = time.monotonic()
    watched = lab.fresh()
    try:
        talk = _Talk(watched, lab, min(options.start_patience, max(within, options.patience)))
        version, hello = _greet(talk, options)
        startup = time.monotonic() - began
        computed = cpu_of_group(watched.session.process.pid)
        versions = _versions(version, hello)
        tools = _tools(talk, version, options.patience)
        nominee = options.nominee or choose(tools)
        tool, declared = _chosen(tools, nominee)
        facts = Facts(
            options.label or label_of(lab.launch),
            talk.quoted(_text(_info(hello).get("name"))),
            talk.quoted(_text(_info(hello).get("version"))),
            version,
            versions,
            tuple(each["name"] for each in tools),
            nominee,
            tool,
            declared,
            options.policy or "continue",
            startup,
            watched.session.process.measure(),
            computed,
        )
        watched.recording.take()
        lab.note(watched)
        return facts if options.policy else replace(facts, policy=_policy(talk, facts))
    finally:
        watched.stop()


def _greet(talk: _Talk, options: Options) -> tuple[Version, Mapping[str, Any]]:
    """Open the session in the version that is asked for, or the newest that the server speaks."""
    names = talk.fresh_names()
    if options.protocol == _LATEST:
        return _LATEST, _discover(talk, options)
    asked = options.protocol or _NEWEST
    raw = initialize(json.dumps(asked).encode(), names.ident("h")).raw
    reply = talk.ask(raw, names.ident("h"), talk.start_patience)
    if reply is None:
        raise _silent(talk, options)
    if "result" not in reply:
        refused = f"the server refused initialize ({_said(talk, reply)})"
        if options.protocol is None:
            return _LATEST, _discover(talk, options, f"{refused}; ")
        raise TargetError(refused, "try another --protocol")
    result = _result(reply, "initialize")
    version = _known(result.get("protocolVersion"))
    if version is None:
        spoken = _text(result.get("protocolVersion"))
        told = f"speaks {talk.quoted(spoken)!r}" if spoken else "names no protocolVersion in words"
        raise TargetError(f"the server {told}", f"known versions of MCP are {', '.join(VERSIONS)}")
    if options.protocol and version != options.protocol:
        raise UsageError(
            f"the server answers {options.protocol} with {version}", "leave --protocol out"
        )
    talk.watched.session.send(INITIALIZED.raw)
    return version, result


def _known(spoken: object) -> Version | None:
    return next((known for known in VERSIONS if known == spoken), None)


def _discover(talk: _Talk, options: Options, before: str = "") -> Mapping[str, Any]:
    """Ask for what a server of the newest version tells; ``before`` is what it refused before."""
    names = talk.fresh_names()
    reply = talk.ask(ping(_LATEST, names.ident("d")).raw, names.ident("d"), talk.start_patience)
    if reply is None:
        raise _silent(talk, options)
    if "method" in reply:
        raise TargetError("the command sends its input back", "give one that is a server of MCP")
    if "result" not in reply:
        raise TargetError(
            f"{before}the server refused server/discover ({_said(talk, reply)})",
            "see what it wants, or try another --protocol",
        )
    return _result(reply, "server/discover")


def _result(reply: Mapping[str, Any], method: str) -> Mapping[str, Any]:
    result = reply["result"]
    if not isinstance(result, dict):
        told = _KINDS.get(type(result), "a number")
        raise TargetError(
            f"the server answered {method} with {told}", "its result has to be an object"
        )
    return result


def _said(talk: _Talk, reply: Mapping[str, Any]) -> str:
    error = reply.get("error")
    if not isinstance(error, dict):
        return "no result"
    return talk.quoted(_text(error.get("message"))) or "an error without a message"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _silent(talk: _Talk, options: Options) -> TargetError:
    """The sentence for a server that did not answer its first request."""
    session, process = talk.watched.session, talk.watched.session.process
    if process.flooded:
        return TargetError(
            f"the server floods stdout with {talk.printed()} and answered no initialize",
            "it must speak MCP on stdout",
        )
    closed = process.stdout.ended
    if process.gone or closed:
        gone, unread, refused = process.wait(1.0), 0, False
    else:
        gone, unread, refused = False, process.unread(), process.refused
    wrote = talk.printed()
    status = session.stop()
    why = talk.quoted(last_words(bytes(process.stderr.data)))
    printed = f" after printing {wrote} on stdout" if wrote else ""
    if gone:
        return TargetError(
            f"the server exited at once ({status}){printed}{why}", "run the command by hand"
        )
    if closed:
        return TargetError(f"the server closed its stdout at once{printed}{why}", "see its stderr")
    seconds = f"{talk.start_patience:g} s"
    if wrote:
        return TargetError(
            f"the server printed {wrote} but answered no initialize within {seconds}{why}",
            "it must speak MCP on stdout",
        )
    if refused:
        return TargetError(
            f"the server closed its stdin{why}", "is this a stdio server? Run it by hand"
        )
    more = "--start-patience" if talk.start_patience == options.start_patience else "--seconds"
    did = "did not read its stdin" if unread else "printed nothing"
    return TargetError(
        f"the server {did} within {seconds}{why}",
        f"is this a stdio server? If it only starts slowly, give {more}",
    )


def _info(hello: Mapping[str, Any]) -> Mapping[str, Any]:
    info = hello.get("serverInfo")
    if not isinstance(info, dict):
        meta = hello.get("_meta")
        info = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else {}
    return info if isinstance(info, dict) else {}


def _versions(version: Version, hello: Mapping[str, Any]) -> tuple[Version, ...]:
    told = hello.get("supportedVersions")
    also = told if isinstance(told, list) else []
    return tuple(known for known in VERSIONS if known == version or known in also)


def _tools(talk: _Talk, version: Version, patience: float) -> list[dict[str, Any]]:
    """All tools that the server lists, over its pages."""
    tools: list[dict[str, Any]] = []
    cursor: object = None
    for _ in range(_PAGES):
        names = talk.fresh_names()
        raw = listing(version, names.ident("l")).raw
        if cursor is not None:
            raw = _with_cursor(raw, cursor)
        reply = talk.ask(raw, names.ident("l"), patience)
        result = (reply or {}).get("result")
        if not isinstance(result, dict):
            break
        told = result.get("tools")
        tools += [each for each in (told if isinstance(told, list) else []) if _is_tool(each)]
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            break
    return tools


def _is_tool(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _with_cursor(raw: bytes, cursor: object) -> bytes:
    value = json.loads(raw)
    value.setdefault("params", {})["cursor"] = cursor
    return json.dumps(value).encode() + b"\n"


def _chosen(tools: list[dict[str, Any]], nominee: Nominee | None) -> tuple[Tool | None, bool]:
    if nominee is None:
        return None, False
    found = next((each for each in tools if each.get("name") == nominee.name), None)
    if found is None:
        names = ", ".join(each["name"] for each in tools) or "none"
        raise UsageError(f"the server has no tool {nominee.name!r}", f"it has: {names}")
    return declaration(found, nominee)


def _policy(talk: _Talk, facts: Facts) -> Policy:
    """What the session does after a frame that every reader must reject: half an object."""
    names = talk.fresh_names()
    raw = b'{"jsonrpc":"2.0","id":\n' + ping(facts.version, names.ident("s")).raw
    reply = talk.ask(raw, names.ident("s"), talk.lab.options.patience)
    return "close" if reply is None else "continue"
