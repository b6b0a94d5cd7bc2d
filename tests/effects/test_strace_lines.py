"""Lines of strace, as it writes them, and what they are read as."""

from __future__ import annotations

import pytest

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.strace import Strace
from wirefence.targets.effects.strace_lines import Lines, effect_of_call

HEAD = b"7 1700000000.5 "


def read(*lines: bytes) -> list[tuple[str, bytes]]:
    calls = Lines().calls(lines)
    return [(seen.kind, seen.detail) for call in calls if (seen := effect_of_call(call))]


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        (b'execve("/bin/echo", ["echo", "a b"], 0x7f /* 3 vars */) = 0', "exec", b"echo a b"),
        (b'execve("/bin/x", [], 0x7f /* 3 vars */) = 0', "exec", b"/bin/x"),
        (
            b'openat(AT_FDCWD</srv/d>, "x", O_WRONLY|O_CREAT|O_CLOEXEC, 0666) = 3</srv/d/x>',
            "write",
            b"/srv/d/x",
        ),
        (b'openat(5</srv>, "/abs", O_RDWR) = 3</abs>', "write", b"/abs"),
        (b'open("r\\303\\251\\n\\"q\\"", O_WRONLY) = 3', "write", b'r\xc3\xa9\n"q"'),
        (b'creat("x", 0600) = 3', "write", b"x"),
        (b'mkdir("d", 0777)                      = 0', "write", b"d"),
        (b'unlinkat(AT_FDCWD</a\\76b>, "x", 0) = 0', "delete", b"/a>b/x"),
        (b'rmdir("d")      = 0', "delete", b"d"),
        (
            b'renameat2(AT_FDCWD</d>, "a", AT_FDCWD</d>, "b", RENAME_NOREPLACE) = 0',
            "rename",
            b"/d/a -> /d/b",
        ),
        (
            b'connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(80), '
            b'sin_addr=inet_addr("10.0.0.1")}, 16) = -1 EINPROGRESS (Operation now in progress)',
            "connect",
            b"10.0.0.1:80",
        ),
        (
            b"connect(3<socket:[1]>, {sa_family=AF_INET6, sin6_port=htons(443), "
            b'sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28)'
            b" = -1 ECONNREFUSED (Connection refused)",
            "connect",
            b"::1:443",
        ),
        (b'connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 9) = 0', "connect", b"unix:/run/x"),
        (b'connect(3<s>, {sa_family=AF_UNIX, sun_path=@"abs"}, 6) = 0', "connect", b"unix:@abs"),
    ],
)  # fmt: skip
def test_a_call_that_acts_is_an_effect(text: bytes, kind: str, detail: bytes) -> None:
    assert read(HEAD + text) == [(kind, detail)]


@pytest.mark.parametrize(
    "text",
    [
        b'openat(AT_FDCWD</d>, "O_WRONLY", O_RDONLY|O_CLOEXEC) = 3</d/O_WRONLY>',
        b'openat(AT_FDCWD</d>, "x", O_WRONLY) = -1 EACCES (Permission denied)',
        b'execve("/bin/x", ["x"], 0x7f /* 3 vars */) = -1 ENOENT (No such file or directory)',
        b'connect(3<s>, {sa_family=AF_UNIX, sun_path="/run/nscd"}, 9) = -1 ENOENT (No such file)',
        b"connect(3<s>, {sa_family=AF_NETLINK, nl_pid=0}, 12) = 0",
        b"--- SIGCHLD {si_signo=SIGCHLD} ---",
        b"+++ exited with 0 +++",
        b"strange",
    ],
)
def test_what_does_nothing_is_none(text: bytes) -> None:
    assert read(HEAD + text) == []


def test_halves_of_interrupted_calls_are_joined_by_their_thread() -> None:
    lines = [
        b'1 1.0 openat(AT_FDCWD</d>, "one", O_WRONLY|O_CREAT, 0666 <unfinished ...>',
        b'2 1.1 unlink("two" <unfinished ...>',
        b"1 1.2 <... openat resumed>) = 3</d/one>",
        b"3 1.3 <... unlink resumed>) = 0",
        b"2 1.4 <... unlink resumed>)           = 0",
    ]
    assert read(*lines) == [("write", b"/d/one"), ("delete", b"two")]


def test_halves_may_come_in_different_reads() -> None:
    lines = Lines()
    assert list(lines.calls([b'1 1.0 unlink("x" <unfinished ...>'])) == []
    [call] = lines.calls([b"1 2.0 <... unlink resumed>) = 0"])
    assert (call.name, call.at) == ("unlink", 1.0)


def test_a_file_name_cannot_forge_the_end_of_a_call() -> None:
    name = b"x <unfinished ...>"
    assert read(b'1 1.0 unlink("%b") = 0' % name) == [("delete", name)]
    name = b'x\\") = 0'
    assert read(b'1 1.0 unlink("%b") = -1 ENOENT (No such file or directory)' % name) == []


def test_a_command_that_cannot_start_is_left_to_complain_for_itself(tmp_path):
    (tmp_path / "unexecutable").write_bytes(b"")
    for command in ("no-such-command-wf", "./unexecutable", "./absent/program", str(tmp_path)):
        launch = Launch((command,), {}, tmp_path)
        assert Strace().wrap(launch) == launch
