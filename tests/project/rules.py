"""The project's rules as functions of a checkout: each gives one line for each violation.

Taking the root as an argument is what lets every rule be tried on a planted violation.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("strategies", "targets", "oracles", "fuzz")
OURS = tuple(f"wirefence.{package}" for package in PACKAGES)
RECORDS = (
    "wirefence.strategies.records",
    "wirefence.strategies.contract",
    "wirefence.targets.records",
)

# The narrowest entry that holds a module decides; a package not listed may import leftwards.
SEALED = {
    "wirefence.oracles": (
        *("wirefence.strategies", "wirefence.targets.records", "wirefence.oracles"),
    ),
    "wirefence.targets.parsers": (
        *(*RECORDS, "wirefence.targets.errors", "wirefence.targets.parsers"),
    ),
    "wirefence.targets.gateway": (
        *(*RECORDS, "wirefence.targets.gateway", "wirefence.targets.parsers"),
    ),
}

LAYERS = (
    *("errors", "extras", "paths", "text", "self_check", "processes", "store", "shrink", "native"),
    *("examination", "coverage", "campaign", "compare", "gate", "crashes"),
    *("pytest_support", "pytest_plugin", "commands", "cli"),
)
"""The parts of ``fuzz``: each imports only those before it, and itself."""

GATE_LAYERS = (
    *("records", "trials", "server", "confirm", "report", "client", "triage", "replay", "run"),
)
"""The same within ``fuzz/gate``."""

ENTRY_POINTS = re.compile(r"fuzz_\w+")
"""libFuzzer targets: they import the coverage layer only, and nothing imports them."""

MACHINE_PATH = re.compile(r"(?<![\w./])/(?:work|root|tmp|opt/pypi)(?![\w.-])|[.]pyenv/")
INDEX_ADDRESS = re.compile(
    r"--(?:(?:extra-)?index-url|find-links|trusted-host)|PIP_(?:EXTRA_)?INDEX_URL"
    r"|\b(?:https?|file)://\S*/simple\b"
)
MARKUP = re.compile(r"noqa(?::\s*[A-Z0-9, ]+)?|type:\s*ignore(?:\[[\w, -]*\])?|pragma:.*|\W")


def modules(root: Path, folders: tuple[str, ...] = PACKAGES) -> Iterator[tuple[str, Path]]:
    """Dotted name and path of every Python file below the folders."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield (f"wirefence.{name}" if folder in PACKAGES else name), path


def within(name: str, parents: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of the parents or lies below one."""
    return any(name == parent or name.startswith(f"{parent}.") for parent in parents)


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, anywhere in a module of ``package``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                kept = parts[: len(parts) - node.level + 1]
                base = ".".join([*kept, base] if base else kept)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def allowed(module: str) -> tuple[str, ...]:
    """The names of ours below which ``module`` may import."""
    sealed = [parent for parent in SEALED if within(module, (parent,))]
    if sealed:
        return SEALED[max(sealed, key=len)]
    own = next(package for package in OURS if within(module, (package,)))
    return OURS[: OURS.index(own) + 1]


def wrong_imports(root: Path) -> list[str]:
    """Imports against the direction strategies, targets, oracles, fuzz, or across a seal."""
    found = []
    for module, path in modules(root):
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for line, name in imported(ast.parse(path.read_bytes()), package):
            # The folders can be imported by their own names from the root: never that way.
            ours = within(name, ("wirefence", *PACKAGES, "tests", "scripts"))
            if ours and not within(name, allowed(module)):
                found.append(f"{path.relative_to(root)}:{line} imports {name}")
    return found


def upward_imports(root: Path) -> list[str]:
    """Imports within ``fuzz`` against the order of its layers, and modules without a layer."""
    known = {name for name, _ in modules(root, ("fuzz",))}
    found = []
    for module, path in modules(root, ("fuzz",)):
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for line, name in imported(ast.parse(path.read_bytes()), package):
            if not within(name, ("wirefence.fuzz",)):
                continue
            target = name if name in known else name.rpartition(".")[0]
            for depth, layers in ((2, LAYERS), (3, GATE_LAYERS)):
                if depth == 3 and not (_in_gate(module) and _in_gate(target)):
                    continue
                own, other = (_layer(each, depth, layers) for each in (module, target))
                if own < other:
                    found.append(f"{path.relative_to(root)}:{line} imports {name}")
    return found


def _in_gate(module: str) -> bool:
    return module.startswith("wirefence.fuzz.gate.")


def _layer(module: str, depth: int, layers: tuple[str, ...]) -> int:
    """The place of a module in the order; that of a libFuzzer target is behind ``coverage``."""
    parts = module.split(".")
    if len(parts) <= depth:
        return 0
    name = "coverage" if ENTRY_POINTS.fullmatch(parts[depth]) else parts[depth]
    return layers.index(name)


def undocumented_modules(root: Path) -> list[str]:
    """Modules of the packages and scripts without a docstring."""
    return [
        str(path.relative_to(root))
        for _, path in modules(root, (*PACKAGES, "scripts"))
        if not ast.get_docstring(ast.parse(path.read_bytes()))
    ]


def reasons(path: Path) -> set[int]:
    """Lines with a comment that says something besides directives to tools."""
    with path.open("rb") as source:
        comments = [t for t in tokenize.tokenize(source.readline) if t.type == tokenize.COMMENT]
    return {t.start[0] for t in comments if len(MARKUP.sub("", t.string)) >= 10}


def unexplained_inner_imports(root: Path) -> list[str]:
    """Imports inside functions without a reason in a comment beside or above them."""
    found = []
    for _, path in modules(root, (*PACKAGES, "scripts")):
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_bytes()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        lines = {
            node.lineno
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        explained = reasons(path) if lines else set()
        found += [
            f"{path.relative_to(root)}:{line}"
            for line in sorted(lines)
            if not {line, line - 1} & explained
        ]
    return found


READ_FINDINGS = ("fuzz/store/metadata.py", "fuzz/coverage/store_watch.py")
"""Modules that read findings from disk."""


def findings_made_elsewhere(root: Path) -> list[str]:
    """Findings that are made outside of ``oracles``: no other place decides what a fault is."""
    found = []
    for module, path in modules(root):
        name = str(path.relative_to(root))
        if within(module, ("wirefence.oracles",)):
            continue
        makers = ("make_finding",) if name in READ_FINDINGS else ("make_finding", "Finding")
        found += [
            f"{name}:{node.lineno} makes a finding"
            for node in ast.walk(ast.parse(path.read_bytes()))
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) in makers
        ]
    return found


def tracked(root: Path) -> list[Path]:
    """Files that git knows or would take; every file where there is no repository."""
    if not (root / ".git").exists():
        return sorted(path for path in root.rglob("*") if path.is_file())
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    paths = [root / name for name in listing.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def machine_traces(root: Path) -> list[str]:
    """Paths of one machine, or addresses of a package index, in text that is not test data."""
    found = []
    for path in tracked(root):
        name = path.relative_to(root)
        if name.parts[0] == "crashes" and path.suffix != ".md":
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            hit = MACHINE_PATH.search(line) or INDEX_ADDRESS.search(line)
            if hit:
                found.append(f"{name}:{number} has {hit.group()}")
    return found
