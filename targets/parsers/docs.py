"""The table of parser configurations as Markdown; `docs/parsers.md` is what it prints.

A table made from the registry cannot promise a configuration that does not run.
Versions are left out, since they change with the interpreter; `library_versions()` gives them.
"""

from __future__ import annotations

from wirefence.targets.parsers.configs import CONFIGS, ParserConfig
from wirefence.targets.parsers.outcomes import DEPTH

__all__ = ["render_docs"]

_HEAD = f"""# Parser configurations

Printed by `python -m wirefence.targets.parsers.docs`; a test compares it with `targets/parsers/`.

The name of a configuration is a value of `--target`. Each combination of options that changes what
a library accepts is a configuration.

- A *strict* one keeps the layers utf8 and json of [the contract](contract.md) under the profile
  strict: it checks all tokens before the library reads the structure.
- A *typed* one reads into the type of a JSON-RPC message. It may reject a document because of the
  type, so only documents that it accepts are compared.
- An exception that is not in the last column is an *escape*.
- Every parser is called with {DEPTH:,} Python frames left, however deep its caller is.

| configuration | library | input and options | kind | documented errors |
|---|---|---|---|---|
"""


def render_docs() -> str:
    """The page for people; one row for each configuration, in the order of ``CONFIGS``."""
    return _HEAD + "".join(_format_row(config) for config in CONFIGS)


def _format_row(config: ParserConfig) -> str:
    kind = "strict" if config.strict else "typed" if config.typed else ""
    errors = ", ".join(_name_error(error) for error in config.documented)
    return f"| `{config.name}` | {config.library} | {config.options} | {kind} | {errors} |\n"


def _name_error(error: type[BaseException]) -> str:
    module = error.__module__.split(".")[0]
    return error.__name__ if module in ("builtins", "wirefence") else f"{module}.{error.__name__}"


if __name__ == "__main__":
    print(render_docs(), end="")  # noqa: T201 - printing the page is what this is for
