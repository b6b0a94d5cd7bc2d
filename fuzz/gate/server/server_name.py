"""Derive the name of a server from its command, for signatures and file names.

Most commands run an interpreter or a package runner. The server's name is the first word that is no
option, no value of an option, and no verb of the runner. It is chosen after redaction, as
signatures are committed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.store.redaction import HIDDEN, Redactor
from wirefence.targets.command.records import Launch

__all__ = ["label_of"]


@dataclass(frozen=True, slots=True)
class _Runner:
    """The command line of one interpreter or package runner.

    ``code`` are options whose value is a program, ``module`` those whose value is a name,
    ``valued`` others that have a value. ``verbs`` may stand before the name; ``packages`` says that
    the name may bear a version. With ``letters`` one word may hold several one-letter options.
    """

    code: frozenset[str] = frozenset()
    module: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    packages: bool = False
    letters: bool = False


def _make_runner(  # noqa: PLR0913 - each is a list of words
    code: str = "",
    module: str = "",
    valued: str = "",
    verbs: str = "",
    *,
    packages: bool = False,
    letters: bool = False,
) -> _Runner:
    return _Runner(
        frozenset(code.split()),
        frozenset(module.split()),
        frozenset(valued.split()),
        frozenset(verbs.split()),
        packages,
        letters,
    )


_SHELL = _make_runner("-c", valued="-o -O --rcfile --init-file", letters=True)
_NODE = _make_runner(
    "-e --eval -p --print -pe",
    valued="-r --require --import --loader --experimental-loader -C --conditions --env-file "
    "--env-file-if-exists --icu-data-dir --openssl-config --input-type --title",
)
_NPX = _make_runner(
    "-c --call",
    valued="-p --package -w --workspace --registry --prefix --cache --userconfig --loglevel",
    packages=True,
)
_UV_VALUED = (
    "-p --python --with --with-editable --with-requirements -w --index --default-index -i "
    "-f --env-file --directory --project --package "
    "--extra --group --only-group --no-group --config-file --cache-dir --color --refresh-package "
    "-P --upgrade-package --constraints --overrides --index-strategy --prerelease --resolution "
    "--link-mode --exclude-newer --python-platform --allow-insecure-host --no-extra"
)
_JAVA_VALUED = (
    "-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports"
)
_RUNNERS = {
    "python": _make_runner("-c", "-m", "-W -X --check-hash-based-pycs", letters=True),
    "node": _NODE,
    "npx": _NPX,
    "uv": _make_runner("", "-m --module", f"{_UV_VALUED} --from", "run tool", packages=True),
    "uvx": _make_runner("", "", f"{_UV_VALUED} --from -c -b --build-constraints", packages=True),
    "bun": _make_runner(
        "-e --eval -p --print", "", "-r --preload --cwd -c", "run x", packages=True
    ),
    "bunx": _make_runner("", "", "-p --package", packages=True),
    "deno": _make_runner(
        "-e eval", "", "-c --config --import-map --lock -L --log-level --cert --location --seed",
        "run", packages=True,
    ),
    "ruby": _make_runner("-e", "", "-I -C -E"),
    "java": _make_runner("", "-m --module", _JAVA_VALUED),
    "bash": _SHELL,
    "sh": _SHELL,
}  # fmt: skip
_INDEX_OPTIONS = ("-url", "-links")
"""Endings of options whose value is a package index, for each runner of these."""
_ALIASES = {"pythonw": "python", "nodejs": "node", "javaw": "java"}
_PROGRAM = re.compile(r"([a-z]+)[\d.]*t?(?:\.exe|\.cmd)?", re.IGNORECASE)
_OPTIONS = re.compile(r"-[A-Za-z]+")
_VERSION = re.compile(r"(?<=[^/])(?:@|\[|[=<>~!]=|[<>]).*", re.DOTALL)


def label_of(launch: Launch) -> str:
    """Return the server's name: what its command runs, without folders, versions and secrets.

    For a program within the command itself (``sh -c``, ``python -c``) it is the interpreter's name.
    """
    shown = Redactor.for_launch(launch).redact_argv(launch.argv)
    words = [word.encode("utf-8", "replace").decode() for word in shown]
    return (_name_command(words) or "command").replace("|", "-").replace("/", "-")


def _name_command(words: Sequence[str]) -> str:
    """Return the name of what a command runs."""
    name = _last_part(words[0]) if words else ""
    kind = _runner_kind(name)
    if kind is None or len(words) == 1:
        return name
    return _name_run_by(kind, words[1:]) or kind


def _last_part(word: str) -> str:
    """Return the end of a path; ``""`` where it holds a secret."""
    name = Path(word).name
    return "" if HIDDEN in name else name


def _runner_kind(name: str) -> str | None:
    match = _PROGRAM.fullmatch(name)
    kind = match[1].lower() if match else ""
    kind = _ALIASES.get(kind, kind)
    return kind if kind in _RUNNERS else None


def _name_run_by(kind: str, words: Sequence[str]) -> str:
    """Return the name of what a known runner runs; ``""`` where that has no name."""
    runner = _RUNNERS[kind]
    at = 0
    while at < len(words):
        option, attached = _parse_option(words[at], runner)
        if option in runner.code:
            return ""
        if option in runner.module:
            rest = attached or "".join(words[at + 1 : at + 2])
            return "" if HIDDEN in rest else rest
        if not attached and (option in runner.valued or option.endswith(_INDEX_OPTIONS)):
            at += 1
        elif not option and words[at] not in runner.verbs and _last_part(words[at]):
            return _name_script(runner, words[at:])
        at += 1
    return ""


def _parse_option(word: str, runner: _Runner) -> tuple[str, str]:
    """Return the option that a word gives, and the value within it; ``""`` for no option.

    Of several letters it is the first that has a value.
    """
    if not word.startswith("-"):
        return (word, "") if word in runner.code else ("", "")
    if runner.letters and _OPTIONS.fullmatch(word[:2]):
        for at, letter in enumerate(word[1:], 2):
            if f"-{letter}" in runner.code | runner.module | runner.valued:
                return f"-{letter}", word[at:]
    return word, ""


def _name_script(runner: _Runner, words: Sequence[str]) -> str:
    """Return the name of a file or package, or of what that program runs in turn."""
    if not runner.packages:
        return _name_command(words)
    return _name_command([_VERSION.sub("", _last_part(words[0])), *words[1:]])
