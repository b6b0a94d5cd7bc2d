"""The tables of docs/findings.md, made of reports of the gate.

What a table says is what one run showed. Nothing is carried over from an earlier
page, an input that was not tried says so, and the two verdicts stand side by side: whether what had
to be rejected acted, and whether the server could still be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.catalogue import SERVERS, Server
from wirefence.fuzz.gate.server.verdicts import ACTING
from wirefence.fuzz.gate.trials.bad_inputs import UGLY
from wirefence.fuzz.gate.trials.messages import INITIALIZED, tokens_in
from wirefence.fuzz.store.store import read_case
from wirefence.oracles.replies import UNUSABLE
from wirefence.oracles.rules import BY_ID

__all__ = ["Told", "rewritten", "told"]

_STAMP = re.compile(rb"wf[0-9a-f]{4}c\d{6}")
_EFFECT = re.compile(r"^! (\w+) (\w+) (.*)$", re.MULTILINE)
_REPLY = re.compile(r"a result|a reply|\S+ breaks \S+: expected an error")
"""Summaries of findings that a reply shows."""
_LONG = 400
_CLASSIC = tuple(name for name, _ in UGLY)


@dataclass(frozen=True, slots=True)
class Shown:
    """One finding: the rule that was broken, whether it acted, who saw it, and what was sent."""

    rule: str
    broken: str
    trials: frozenset[str]
    witnesses: tuple[str, ...]
    sent: str
    summary: str

    @property
    def acted(self) -> bool:
        return self.rule in ACTING

    @property
    def unusable(self) -> bool:
        return self.rule in UNUSABLE


@dataclass(frozen=True, slots=True)
class Told:
    """A report as the tables need it."""

    server: Server
    report: Mapping[str, Any]
    shown: tuple[Shown, ...]

    @property
    def attempts(self) -> tuple[int, int, int]:
        """Trials sent, those that acted, and those after which the server was of no use."""
        each = self.report["attempts"]
        return tuple(sum(one[key] for one in each) for key in ("sent", "acted", "unusable"))  # type: ignore[return-value]

    @property
    def recorders(self) -> str:
        return ", ".join(["reply", *self.report["recorders"]])

    def classic(self, name: str) -> str:
        """The two verdicts on one of the five classic inputs."""
        found = [each for each in self.shown if name in each.trials]
        left = any(name in names for names in self.report["skipped"].values())
        said = [("**acted**", "no effect", any(each.acted for each in found))]
        said += [("**not usable**", "usable", any(each.unusable for each in found))]
        shown = [bad if shows else good for bad, good, shows in said if shows or not left]
        return ", ".join([*shown, "not run whole"] if left else shown)


def told(server: Server, text: str) -> Told:
    """Read one report and what lies beside its findings."""
    report = json.loads(text)
    folder = str(_folder(report, server))
    return Told(server, report, tuple(_shown(each, folder) for each in report["findings"]))


def _folder(report: Mapping[str, Any], server: Server) -> Path:
    """The folder of the server: the reproducers lie beside it."""
    for each in report["findings"]:
        return Path(each["path"]).parents[1] / "folder"
    return Path(server.name)


def _shown(found: Mapping[str, Any], folder: str) -> Shown:
    case = read_case(Path(found["path"]))
    sent = b"".join(_unusual([frame.raw for frame in case.frames])) or case.data
    return Shown(
        found["rule"],
        found["broken"],
        frozenset(found["trials"]),
        tuple(_witnesses(found, sent)),
        _escaped(sent, folder) if found["oracle"] != "smoke" else f"{len(case.frames)} requests",
        found["summary"].replace(folder, "FOLDER"),
    )


def _unusual(frames: list[bytes]) -> list[bytes]:
    """The frames but for a whole handshake, and the good request and sentinel of every trial."""
    opens = len(frames) > 1 and b'"initialize"' in frames[0] and frames[1] == INITIALIZED.raw
    rest = frames[2:] if opens else frames
    return [raw for raw in rest if not _roles(raw) or _roles(raw) - {b"p", b"s"}]


def _roles(raw: bytes) -> set[bytes]:
    """What the names in some bytes stand for: ``t`` the bad frame, ``p`` the good one after it."""
    return {_STAMP.sub(b"", name).removesuffix(b"i") for name in tokens_in(raw)}


def _witnesses(found: Mapping[str, Any], sent: bytes) -> Iterable[str]:
    """Who saw it: the reply, and each recorder that saw the name of the bad frame."""
    if found["offending_hex"] and _REPLY.match(found["summary"]):
        yield "reply"
    if found["oracle"] != "non-action":
        return  # nothing was done that a recorder could have seen
    bad = _roles(sent) - {b"p", b"s"}
    transcript = Path(found["transcript"]).read_text("utf-8")
    effects = _EFFECT.finditer(transcript)
    seen = {match[1] for match in effects if bad & _roles(match[3].encode())}
    yield from sorted(seen)


def _escaped(raw: bytes, folder: str) -> str:
    """Bytes as code: names of ours cut down to their role, long ones cut off."""
    text = repr(_STAMP.sub(b"", raw))[2:-1].replace(folder, "FOLDER")
    cut = text if len(text) <= _LONG else f"{text[:_LONG]} ... ({len(raw):,} bytes)"
    return f"`` {cut} ``" if "`" in cut else f"`{cut}`"


def rewritten(page: str, reports: Mapping[str, str]) -> str:
    """The page with its tables made of these reports, by name of the server.

    A table stands between ``<!-- NAME -->`` and ``<!-- end -->``.
    """
    known = [told(server, reports[server.name]) for server in SERVERS if server.name in reports]
    for name, make in _TABLES.items():
        mark = re.compile(rf"(?s)<!-- {name} -->\n.*?<!-- end -->")
        table = f"<!-- {name} -->\n\n{make(known)}\n<!-- end -->"
        page, count = mark.subn(lambda _, table=table: table, page)
        assert count == 1, f"the page has {count} places for the table {name!r}"
    return page


def _servers(known: Sequence[Told]) -> str:
    head = "server|package|protocol|who looked|trials|acted|unusable after|not run"
    rows = [tuple(head.split("|"))]
    for each in known:
        sent, acted, unusable = each.attempts
        package = f"{each.server.package} {each.server.version}"
        version = each.report["server"]["version"]
        left = sum(map(len, each.report["skipped"].values()))
        counts = (f"{sent:,}", f"{acted:,}", f"{unusable:,}", f"{left:,}")
        rows.append((each.server.title, package, version, each.recorders, *counts))
    return _table(rows)


def _commands(known: Sequence[Told]) -> str:
    rows = [("server", "command", "tool", "arguments")]
    for each in known:
        server = each.server
        changes = " ".join(f"{name}={value}" for name, value in server.env.items())
        command = " ".join((changes, *server.words)).strip()
        rows.append((server.title, f"`{command}`", f"`{server.tool}`", f"`{server.arguments}`"))
    return _table(rows)


def _classic(known: Sequence[Told]) -> str:
    rows = [("server", *(name.removeprefix("ugly-") for name in _CLASSIC))]
    rows += [(each.server.title, *map(each.classic, _CLASSIC)) for each in known]
    return _table(rows)


def _further(known: Sequence[Told]) -> str:
    rows = [("broken rule", *(each.server.title for each in known))]
    for broken in _rules(known):
        strict = " (*strict*)" if broken in BY_ID and len(BY_ID[broken].profiles) == 1 else ""
        rows.append((f"{broken}{strict}", *(_verdict(each, broken) for each in known)))
    return _table(rows)


def _rules(known: Sequence[Told]) -> list[str]:
    """Broken rules, those of the specifications before those of the house."""
    found = dict.fromkeys(shown.broken for each in known for shown in each.shown)
    return sorted(found, key=lambda rule: (rule in BY_ID and len(BY_ID[rule].profiles) == 1, rule))


def _verdict(each: Told, broken: str) -> str:
    found = [shown for shown in each.shown if shown.broken == broken]
    witnesses = dict.fromkeys(w for shown in found for w in shown.witnesses)
    if any(shown.rule.startswith("act-") and shown.acted for shown in found):
        return f"acted: {', '.join(witnesses)}"
    if any(shown.acted for shown in found):
        return f"answered: {', '.join(witnesses)}"
    return "shown" if found else "-"


def _each(known: Sequence[Told]) -> str:
    parts = []
    for each in known:
        rows = [("broken rule", "seen by", "sent after the handshake, or instead of it")]
        rows += [
            (shown.broken, ", ".join(shown.witnesses) or shown.summary, shown.sent)
            for shown in each.shown
        ]
        table = _table(rows) if each.shown else "Nothing was found.\n"
        what = f"{each.server.package} {each.server.version}"
        parts.append(f"### {each.server.title} ({what})\n\n{table}")
    return "\n".join(parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    """A table of markdown, the first row being its head."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


_TABLES: Mapping[str, Callable[[Sequence[Told]], str]] = {
    "servers": _servers,
    "commands": _commands,
    "classic": _classic,
    "further": _further,
    "each": _each,
}
