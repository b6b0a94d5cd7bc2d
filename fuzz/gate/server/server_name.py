"""Name a server for signatures and file names: as it names itself, else by its command.

A name is chosen after redaction, as signatures are committed.
"""

from __future__ import annotations

import re
from pathlib import Path

from wirefence.fuzz.store.redaction import HIDDEN, Redactor
from wirefence.targets.command.records import Launch

__all__ = ["name_server"]

_INTERPRETER = re.compile(
    r"(?:python|pypy|node|nodejs|ruby|perl|bash|sh)w?[\d.]*t?(?:\.exe)?", re.IGNORECASE
)
_SCRIPT = re.compile(r"[\w.@+-]+\.\w+")
_MODULE_OPTION = re.compile(r"-[A-Za-z]*m")


def name_server(launch: Launch, own: str = "") -> str:
    """Return the name of a server: ``own`` (``serverInfo.name``, redacted), else that of its
    command.

    A command is named by its program without folders. Of an interpreter it is the module, or the
    script without suffix. A name that holds a secret is not used; ``command`` is the last resort.
    """
    own = " ".join(own.split())
    name = own if own and HIDDEN not in own else _name_command(launch)
    return re.sub(r"[|/]", "-", name.encode("utf-8", "replace").decode()) or "command"


def _name_command(launch: Launch) -> str:
    program, *words = Redactor.for_launch(launch).redact_argv(launch.argv)
    name = _last_part(program)
    if _INTERPRETER.fullmatch(name):
        for at, word in enumerate(words):
            if _MODULE_OPTION.fullmatch(word) and words[at + 1 :]:
                return name if HIDDEN in words[at + 1] else words[at + 1]
            part = "" if word.startswith("-") else _last_part(word)
            # Other words without a suffix may be values of options.
            if part and (at == 0 or _SCRIPT.fullmatch(part)):
                return Path(part).stem
    return name


def _last_part(word: str) -> str:
    """Return the end of a path; ``""`` where it holds a secret."""
    name = Path(word).name
    return "" if HIDDEN in name else name
