"""A small MCP client for tests of client mode: strict, but for the faults that it is told to have.

Faults are words of the first argument. It starts $WIREFENCE_SERVER, makes its calls one after the
other (or all at once: `concurrent`), and reports as docs/gate-client.md says.
"""
# ruff: noqa: T201

import json
import os
import select
import subprocess
import sys
import time

FAULTS = set(sys.argv[1].split(",")) if len(sys.argv) > 1 else set()
ACTIONS = os.environ.get("WIREFENCE_ACTIONS", "alpha").split()


def pairs(items):
    names = [name for name, _ in items]
    if len(set(names)) != len(names) and "duplicates" not in FAULTS:
        raise ValueError("duplicate name")
    return dict(items)


def constant(name):
    if "nan" in FAULTS:
        return 0.0
    raise ValueError(name)


def parse(line):
    if "repair" in FAULTS and b"{" in line:
        line = line[line.index(b'{"jsonrpc"') :]
        value, _ = json.JSONDecoder().raw_decode(line.decode("utf-8", "replace"))
        return value
    text = line.decode("utf-8", "replace" if "replace" in FAULTS else "strict")
    if "strip" in FAULTS:
        text = text.strip("\ufeff\x0c\xa0\0 \n")
    value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    if not isinstance(value, dict):
        raise TypeError("no object")
    return value


def response(line):
    """The message if it is a response that may be taken, else None."""
    message = parse(line)
    if "shape" not in FAULTS:
        known = {"jsonrpc", "id", "result"} if "result" in message else {"jsonrpc", "id", "error"}
        if "method" in message:
            return None
        if set(message) != known or message["jsonrpc"] != "2.0":
            raise ValueError("shape")
        if type(message["id"]) not in (int, str):
            raise ValueError("id")
        note = json.dumps(message.get("result"))
        if "\\ud800" in note and "duplicates" not in FAULTS:
            raise ValueError("surrogate")
    return message if "result" in message or "error" in message else None


class Server:
    """Lines of the server, read without waiting where none is due."""

    def __init__(self):
        self.rest = b""
        self.ended = False
        if "direct" in FAULTS:
            self.out, self.into = sys.stdout.buffer, sys.stdin.buffer
            return
        command = os.environ["WIREFENCE_SERVER"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([command], stdin=pipe, stdout=pipe, env={"PATH": "/bin"})
        self.out, self.into = self.process.stdin, self.process.stdout

    def send(self, message):
        if "sleepy" not in FAULTS:
            self.drain()
        self.out.write(json.dumps(message).encode() + b"\n")
        self.out.flush()

    def drain(self):
        """What is here before a request was made can't be its answer."""
        while not self.ended and select.select([self.into], [], [], 0)[0]:
            self.more()
        self.rest = self.rest[self.rest.rfind(b"\n") + 1 :]

    def more(self):
        data = os.read(self.into.fileno(), 65536)
        self.rest += data
        self.ended = not data

    def line(self):
        while b"\n" not in self.rest:
            if "eager" in FAULTS and self.whole():
                line, self.rest = self.rest, b""
                return line
            if self.ended:
                line, self.rest = self.rest, b""
                if line and "unterminated" in FAULTS:
                    return line
                raise EOFError
            self.more()
        line, _, self.rest = self.rest.partition(b"\n")
        if "splits" in FAULTS and b"\r" in line:
            return line.split(b"\r")[1]
        return line

    def whole(self):
        try:
            json.loads(self.rest)
        except ValueError:
            return False
        return True


SERVER = Server()
WAITING = {}
NEXT = [0]


def matches(message, ident):
    got = message.get("id")
    if "any-id" in FAULTS:
        return True
    if "loose-id" in FAULTS:
        return str(got).strip() == str(ident) or got == ident
    return type(got) is type(ident) and got == ident


STORED = {}


def wait(ident):
    while True:
        if ident in STORED:
            return STORED.pop(ident)
        try:
            message = response(SERVER.line())
        except (ValueError, TypeError, KeyError, RecursionError):
            if "brittle" in FAULTS:
                raise
            if "dies" in FAULTS:
                os.kill(os.getpid(), 6)
            continue
        if message is None:
            continue
        if matches(message, ident):
            return message
        if "stores" in FAULTS or message.get("id") in WAITING:
            STORED.setdefault(message.get("id"), message)


def request(method, params):
    NEXT[0] += 1
    ident = NEXT[0]
    if "string-ids" in FAULTS:
        ident = str(ident)
    SERVER.send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
    return ident


def report(action, message):
    if "mute" in FAULTS:
        return
    if "error" in message:
        told = {"action": action, "error": message["error"]["message"]}
    else:
        told = {"action": action, "result": message["result"]["content"][0]["text"]}
    if "stderr" in FAULTS:
        print("wirefence-result " + json.dumps(told), file=sys.stderr, flush=True)
        return
    with open(os.environ["WIREFENCE_RESULTS"], "a") as stream:  # noqa: PTH123
        stream.write(json.dumps(told) + "\n")


def main():
    info = {"name": "example", "version": "9"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    answer = wait(request("initialize", params))
    if "error" in answer and "any-id" not in FAULTS:
        return
    SERVER.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    calls = {}
    for action in ACTIONS:
        ident = request("tools/call", {"name": "record", "arguments": {"action": action}})
        calls[ident] = WAITING[ident] = action
        if "concurrent" not in FAULTS:
            report(action, wait(ident))
    if "concurrent" in FAULTS:
        for ident, action in calls.items():
            report(action, wait(ident))
    if "lingers" in FAULTS:
        time.sleep(60)


if "absent" in FAULTS:
    sys.exit(4)
try:
    main()
except EOFError:
    if "lingers-at-eof" in FAULTS:
        time.sleep(60)
    sys.exit(1)
except (ValueError, TypeError, KeyError):
    sys.exit(1)
