from __future__ import annotations

import base64
import json
import math
import time
from urllib.parse import quote, quote_plus

import pytest

from wirefence.fuzz.store.redaction import HIDDEN, Redactor, is_secret_name, redact_text
from wirefence.targets.command.records import Launch

SECRETS = [
    "API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PASSWD",
    "--api-key", "--token", "--clientSecret", "accessToken", "HTTP_COOKIE", "NPM_CONFIG__AUTH",
    "MYSQL_PWD", "APIKEY", "GH_PAT", "SSH_PRIVATE_KEY", "GOOGLE_APPLICATION_CREDENTIALS",
]  # fmt: skip
HARMLESS = [
    "PATH", "HOME", "PWD", "OLDPWD", "KEYBOARD", "MONKEY", "--max-tokens", "TOKENIZERS_PARALLELISM",
    "AUTHOR", "PUBLIC_KEY", "--path", "SSH_AUTH_SOCK", "LANG", "--keyboard",
]  # fmt: skip
RANDOM = "q8Zt41LmPx09aKs7Yw3bVn5c"


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_names_are_let_be(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["s", "--token", "hunter2"], ["s", "--token", "***"]),
        (["s", "--token=hunter2"], ["s", "--token=***"]),
        (["s", "--token", "--verbose"], ["s", "--token", "--verbose"]),
        (["docker", "-e", "API_KEY=abc"], ["docker", "-e", "API_KEY=***"]),
        (["s", "https://me:pw@host/x"], ["s", "https://***@host/x"]),
        (["s", "https://host/x?api_key=1&b=2"], ["s", "https://host/x?api_key=***&b=2"]),
        (["s", "-H", "Authorization: Bearer abc.def"], ["s", "-H", "Authorization: Bearer ***"]),
        (["s", RANDOM], ["s", "***"]),
        (["s", "--x=" + RANDOM], ["s", "--x=***"]),
        (["s", "d41d8cd98f00b204e9800998ecf8427e"], ["s", "***"]),
        (["s", "sk-proj-aaaabbbbccccdddd"], ["s", "***"]),
    ],
)
def test_arguments_are_shown_without_secrets(argv: list[str], shown: list[str]) -> None:
    assert list(Redactor().redact_argv(argv)) == shown


@pytest.mark.parametrize(
    "word",
    [
        "@modelcontextprotocol/server-everything@2025.11.25",
        "/srv/someone/projects/server-with-a-long-name/main.py",
        "mcp-server-git-2025-11-25-release-candidate",
        "--allowed-directories=/srv/data",
        "postgresql://localhost:5432/database",
        "a_rather_long_module_name.main:application_factory",
    ],
)
def test_ordinary_long_arguments_are_shown(word: str) -> None:
    assert Redactor().redact_argv([word]) == (word,)


def test_a_secret_that_a_name_gave_away_is_hidden_wherever_it_turns_up() -> None:
    launch = Launch(("s", "--password", "hunter22"), {"MY_TOKEN": "swordfish", "MODE": "debug"})
    hide = Redactor.for_launch(launch, {"DB_SECRET": "grue\udcff-lamp", "SHORT_KEY": "1"})
    assert hide.redact_text("login hunter22 with swordfish 1") == f"login {HIDDEN} with {HIDDEN} 1"
    assert hide.redact_bytes(b"\xfe grue\xff-lamp \x00swordfish") == b"\xfe *** \x00***"
    assert hide.redact_env(launch.env) == {"MY_TOKEN": HIDDEN, "MODE": "debug"}
    assert hide.redact_env({"HTTP_PROXY": None}) == {"HTTP_PROXY": "(unset)"}


ODD = 'pa"ss\\wörd/+ 7'


@pytest.mark.parametrize(
    "spelled",
    [
        ODD,
        json.dumps(ODD),
        json.dumps(ODD, ensure_ascii=False),
        repr(ODD),
        repr(ODD.encode()),
        f"https://host/?x={quote(ODD)}",
        f"https://host/?x={quote(ODD, safe='')}",
        f"x={quote_plus(ODD)}",
        f"x: {base64.b64encode(ODD.encode()).decode()}",
    ],
)
def test_a_secret_is_hidden_however_it_is_spelled(spelled: str) -> None:
    hide = Redactor.for_launch(Launch(("s",), {"MY_TOKEN": ODD}), {})
    assert HIDDEN in hide.redact_text(spelled)
    assert "rd" not in hide.redact_text(spelled)
    assert HIDDEN.encode() in hide.redact_bytes(spelled.encode())


def test_each_line_of_a_secret_is_one_where_it_stands_alone() -> None:
    hide = Redactor.for_launch(Launch(("s",), {"PRIVATE_KEY": "first-line\nsecond-line\n"}), {})
    assert hide.redact_text("> 'second-line'") == f"> '{HIDDEN}'"


_SIZE = 1 << 14
HOSTILE = [
    "a.", "a", "A1b", "x-api-key ", "x-api-key:,", "bearer ", "?a", "&token=", "1", "=", "a=", "@",
    "cookie:", "cookie ", "set-cookie\n:\n", 'cookie:a="', 'a="', "://", "a://", "a://b", "=a@",
    "authorization ", "authorization:\n", "authorization: a ", '"', "sk-", "eyJ", "a-", " ", "\n",
    "_KEY", "\\x", "%", "aaaaaab",
]  # fmt: skip


@pytest.mark.parametrize("form", ["redact_bytes", "redact_argv", "redact_env"])
def test_hiding_takes_time_in_proportion_to_what_a_server_writes(form: str) -> None:
    hide = Redactor.for_launch(
        Launch(("s",), {"A_KEY": "a" * 40, "B_KEY": "1.1.1.1.2", "C_KEY": "ab%/+="})
    )
    plain = _seconds(hide, form, "a plain line of a log\n")
    slow = {unit: _seconds(hide, form, unit) / plain for unit in HOSTILE}
    assert {unit: ratio for unit, ratio in slow.items() if ratio > 60} == {}


def _seconds(hide: Redactor, form: str, unit: str) -> float:
    text = (unit * (_SIZE // len(unit) + 1))[:_SIZE]
    given = {"redact_bytes": text.encode(), "redact_argv": [text], "redact_env": {"X": text}}[form]
    best = math.inf
    for _ in range(2):
        began = time.process_time()
        getattr(hide, form)(given)
        best = min(best, time.process_time() - began)
    return best


def test_a_text_is_cut_after_its_secrets_are_hidden() -> None:
    hide = Redactor.for_launch(Launch(("s",), {"A_KEY": "swordfish"}), {})
    said = hide.redact_and_shorten("x" * 290 + "swordfish" + "y" * 99)
    assert said == "x" * 290 + HIDDEN + "yyyy..."
    assert hide.redact_and_shorten("x" * 300) == "x" * 300


def test_a_secret_within_a_secret_leaves_nothing_behind() -> None:
    hide = Redactor.for_launch(Launch(("s",), {"A_KEY": "abcdef", "B_KEY": "abcdefghi"}), {})
    assert hide.redact_text("abcdefghi abcdef") == "*** ***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("authorization: Basic dXNlcjpwdw==", "authorization: Basic ***"),
        ('{"Authorization": "Bearer abc123"}', '{"Authorization": "Bearer ***"}'),
        ("Cookie: a=b; c=d\nnext", "Cookie: ***\nnext"),
        ('Set-Cookie: a="b c"; Secure\nnext', "Set-Cookie: ***\nnext"),
        ('"Set-Cookie: a=\\"b c\\"; d=\\"e\\"", 1', '"Set-Cookie: ***", 1'),
        ('{"cookie": "a=b", "c": 1}', '{"cookie": "***", "c": 1}'),
        ("x-api-key: abc", "x-api-key: ***"),
        ("token ghp_abcdefghijklmnop0123 seen", "token *** seen"),
        ("nothing to hide here: a@b.example", "nothing to hide here: a@b.example"),
        ("at postgresql+asyncpg://me:pw@host/db!", "at postgresql+asyncpg://***@host/db!"),
        ("https://host/@name, http://a b@c", "https://host/@name, http://a b@c"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_in_text(text: str, shown: str) -> None:
    assert redact_text(text) == shown
