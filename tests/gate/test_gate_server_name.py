"""The name of a server in signatures: what its command runs, and never a secret."""

from __future__ import annotations

import shlex

import pytest

from wirefence.fuzz.crashes.add import AddOptions, _make_subject
from wirefence.fuzz.gate.server.server_name import label_of
from wirefence.targets.command.records import Launch


def label(command: str) -> str:
    return label_of(Launch(tuple(shlex.split(command))))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -m mcp_server_time --local-timezone UTC", "mcp_server_time"),
        (".venv/bin/python -m a.b", "a.b"),
        ("node path/server.js /data", "server.js"),
        ("npx pkg", "pkg"),
        ("npx -y @scope/pkg /data", "pkg"),
        ("mcp-server-time --local-timezone UTC", "mcp-server-time"),
        ("./target/release/server", "server"),
        ("uv run python server.py", "server.py"),
        ("docker run -i image", "docker"),
    ],
)
def test_a_plain_command_is_named_by_what_it_runs(command: str, name: str) -> None:
    assert label(command) == name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("uv run server.py", "server.py"),
        ("uv --directory /srv run --with mcp server.py", "server.py"),
        ("uv tool run pkg", "pkg"),
        ("uvx --extra-url https://h/all pkg", "pkg"),
        ("uvx --from git+https://host/a/b cmd", "cmd"),
        ("python -X dev -W error server.py", "server.py"),
        ("python -Xdev -um a.b", "a.b"),
        ("node -r dotenv/config --inspect server.js", "server.js"),
        ("bash -eo pipefail start.sh", "start.sh"),
        ("deno run --allow-read server.ts", "server.ts"),
        ("java -cp lib Main", "Main"),
        ("java -jar lib/x.jar", "x.jar"),
        ("mcp-thing -m gpt", "mcp-thing"),
    ],
)
def test_neither_verbs_nor_values_of_options_are_names(command: str, name: str) -> None:
    assert label(command) == name


@pytest.mark.parametrize("name", ["shopify-mcp", "node-mcp", "uvicorn", "pythonic", "javascriptd"])
def test_a_program_is_no_interpreter_by_its_beginning(name: str) -> None:
    assert label(f"{name} conf.json") == name


@pytest.mark.parametrize("name", ["python3.12", "python3.13t", "PYTHON.EXE", "nodejs", "node20"])
def test_an_interpreter_is_one_in_any_version(name: str) -> None:
    assert label(f"/usr/bin/{name} server") == "server"


@pytest.mark.parametrize(
    "word",
    ["pkg@1.2.3", "@scope/pkg@latest", "pkg==1.2", "pkg[extra]>=1", "git+https://h/a/pkg@v1"],
)
@pytest.mark.parametrize("runner", ["npx", "uvx"])
def test_a_package_is_named_without_its_version(runner: str, word: str) -> None:
    assert label_of(Launch((runner, word))) == "pkg"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sh -c 'API_KEY=hunter2hunter2 exec node server.js'", "sh"),
        ("bash -lc 'exec server'", "bash"),
        ("python3.12 -c 'import hunter2'", "python"),
        ("node -e 'x()'", "node"),
        ("npx -c 'x'", "npx"),
    ],
)
def test_a_program_in_the_command_is_named_by_what_reads_it(command: str, name: str) -> None:
    assert label(command) == name


@pytest.mark.parametrize(
    "command",
    [
        "uvx --token s3cretzz pkg",
        "uvx --token=s3cretzz pkg",
        "uvx q8Zt41LmPx09aKs7Yw3bVn5c pkg",
        "uvx swordfish pkg",
    ],
)
def test_a_secret_is_no_name(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "swordfish")
    assert label(command) == "pkg"


@pytest.mark.parametrize("command", ["swordfish", "python -m swordfish", "uvx swordfish"])
def test_a_command_whose_every_word_is_one_has_a_name_still(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "swordfish")
    assert label(command) in {"command", "python", "uvx"}


def test_what_parts_a_signature_is_in_no_name() -> None:
    assert label_of(Launch(("a|b",))) == "a-b"
    assert label_of(Launch(("python", "-m", "a/b|c"))) == "a-b-c"


def test_filing_by_hand_gives_the_name_that_the_gate_gives() -> None:
    launch = Launch(("node", "path/server.js"))
    assert _make_subject(launch, AddOptions("")).target == "server.js"
    assert _make_subject(launch, AddOptions("mine")).target == "mine"
