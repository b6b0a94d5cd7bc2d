"""A small MCP client for tests of client mode: strict, but for the faults that it is told to have.

Faults are words of the first argument. It starts $WIREFENCE_SERVER, makes its calls one after the
other (or all at once: `concurrent`), and reports as docs/gate-client.md says. Most of its faults
are in how it reads, and can be looked at without any process: see falls.py.
"""
# ruff: noqa: T201

import json
import os
import re
import select
import subprocess
import sys
import time

COMMENT = re.compile(r"/\*.*?\*/")
COMMA = re.compile(r",(?=\s*[}\]])")


class Reader:
    """What becomes of one line: a message that may be taken, none, or an exception."""

    def __init__(self, faults):
        self.faults = faults
        self.begun = b""

    def has(self, *faults):
        return not self.faults.isdisjoint(faults)

    def pairs(self, items):
        names = [name for name, _ in items]
        if len(set(names)) != len(names) and not self.has("duplicates"):
            raise ValueError("duplicate name")
        return dict(items)

    def constant(self, name):
        if self.has("nan"):
            return 0.0
        raise ValueError(name)

    def loads(self, text):
        return json.loads(text, object_pairs_hook=self.pairs, parse_constant=self.constant)

    def parse(self, line):
        if self.has("repair") and b"{" in line:
            line = line[line.index(b'{"jsonrpc"') :]
            value, _ = json.JSONDecoder().raw_decode(line.decode("utf-8", "replace"))
            return value
        if self.has("guesses") and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self.loads(line.decode("utf-16"))
        text = line.decode("utf-8", "replace" if self.has("replace") else "strict")
        if self.has("strip"):
            text = text.strip("\ufeff\x0c\xa0\0 \n")
        if self.has("relaxed"):
            text = COMMA.sub("", COMMENT.sub("", text))
        if self.has("closes"):
            text += "]" * text.count("[", text.rfind("]") + 1)
            text += "}" * (text.count("{") - text.count("}"))
        value = self.loads(text)
        if isinstance(value, list) and value and self.has("unpacks"):
            value = value[0]
        if not isinstance(value, dict):
            raise TypeError("no object")
        return value

    def response(self, line):
        """The message if it is a response that may be taken, else None."""
        message = self.gathered(line) if self.has("gathers") else self.parse(line)
        if message is not None and not self.has("shape"):
            if "method" in message:
                return None
            known = {"jsonrpc", "id", "result" if "result" in message else "error"}
            if set(message) != known or message["jsonrpc"] != "2.0":
                raise ValueError("shape")
            if type(message["id"]) not in (int, str):
                raise ValueError("id")
            note = json.dumps(message.get("result"))
            if "\\ud800" in note and not self.has("duplicates"):
                raise ValueError("surrogate")
        taken = message is not None and ("result" in message or "error" in message)
        return message if taken or self.has("any-kind") else None

    def gathered(self, line):
        """A message over as many lines as it takes."""
        self.begun += line
        try:
            message = self.parse(self.begun)
        except ValueError:
            return None
        self.begun = b""
        return message


def is_well_formed(result):
    """Whether the result of a call is as the schema demands, as far as this server's are."""
    blocks = result.get("content")
    return (
        isinstance(blocks, list)
        and all(isinstance(each, dict) and each.get("type") == "text" for each in blocks)
        and all(isinstance(each.get("text"), str) for each in blocks)
        and isinstance(result.get("isError", False), bool)
        and isinstance(result.get("structuredContent", {}), dict)
    )


def text_of(result):
    """The text of a result, wherever it may be."""
    if "structuredContent" in result:
        return result["structuredContent"][0]
    content = result["content"]
    text = (content if isinstance(content, dict) else content[0])["text"]
    return text if isinstance(text, str) else text[0]


class Client:
    """One session with a server that is sent and gives bytes; ``tell`` gets what came of calls."""

    def __init__(self, faults, server, tell, actions=("alpha", "beta", "gamma")):
        self.reader = Reader(faults)
        self.has = self.reader.has
        self.server, self.tell, self.actions = server, tell, actions
        self.rest = b""
        self.ended = False
        self.number = 0
        self.waiting = {}
        self.stored = {}

    def send(self, message):
        if not self.has("sleepy"):
            self.drain()
        self.server.send(json.dumps(message).encode() + b"\n")

    def drain(self):
        """What is here before a request was made can't be its answer."""
        while not self.ended and self.server.ready():
            self.more()
        self.rest = self.rest[self.rest.rfind(b"\n") + 1 :]

    def more(self):
        data = self.server.more()
        self.rest += data
        self.ended = not data

    def line(self):
        while b"\n" not in self.rest:
            if self.has("eager") and self.whole():
                line, self.rest = self.rest, b""
                return line
            if self.ended:
                line, self.rest = self.rest, b""
                if line and self.has("unterminated"):
                    return line
                raise EOFError
            self.more()
        line, _, self.rest = self.rest.partition(b"\n")
        if self.has("splits") and b"\r" in line:
            return line.split(b"\r")[1]
        return line

    def whole(self):
        try:
            json.loads(self.rest)
        except ValueError:
            return False
        return True

    def matches(self, message, ident):
        got = message.get("id")
        if self.has("any-id"):
            return True
        if self.has("loose-id"):
            return str(got).strip() == str(ident) or got == ident
        return type(got) is type(ident) and got == ident

    def wait(self, ident):
        while True:
            if ident in self.stored:
                return self.stored.pop(ident)
            try:
                message = self.reader.response(self.line())
            except (ValueError, TypeError, KeyError, RecursionError):
                if self.has("brittle"):
                    raise
                if self.has("dies"):
                    os.kill(os.getpid(), 6)
                continue
            if message is None:
                continue
            if self.matches(message, ident):
                return message
            if self.has("stores") or message.get("id") in self.waiting:
                self.stored.setdefault(message.get("id"), message)

    def request(self, method, params):
        self.number += 1
        ident = str(self.number) if self.has("string-ids") else self.number
        self.send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        return ident

    def report(self, action, message):
        if self.has("mute"):
            return
        if "error" in message:
            self.tell({"action": action, "error": message["error"]["message"]})
        elif self.has("trusts") or is_well_formed(message["result"]):
            self.tell({"action": action, "result": text_of(message["result"])})
        else:
            self.tell({"action": action, "error": f"malformed: {message['result']}"})

    def run(self):
        info = {"name": "example", "version": "9"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        answer = self.wait(self.request("initialize", params))
        if "error" in answer and not self.has("any-id"):
            return
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        calls = {}
        for action in self.actions:
            params = {"name": "record", "arguments": {"action": action}}
            ident = self.request("tools/call", params)
            calls[ident] = self.waiting[ident] = action
            if not self.has("concurrent"):
                self.report(action, self.wait(ident))
        if self.has("concurrent"):
            for ident, action in calls.items():
                self.report(action, self.wait(ident))


class Pipes:
    """The server behind pipes: $WIREFENCE_SERVER, or what is at the other end of our own."""

    def __init__(self, *, direct):
        if direct:
            self.out, self.into = sys.stdout.buffer, sys.stdin.buffer
            return
        command, pipe = os.environ["WIREFENCE_SERVER"], subprocess.PIPE
        self.process = subprocess.Popen([command], stdin=pipe, stdout=pipe, env={"PATH": "/bin"})
        self.out, self.into = self.process.stdin, self.process.stdout

    def send(self, data):
        self.out.write(data)
        self.out.flush()

    def ready(self):
        return bool(select.select([self.into], [], [], 0)[0])

    def more(self):
        """What comes next; nothing at the end."""
        return os.read(self.into.fileno(), 65536)


def to_stderr(told):
    print("wirefence-result " + json.dumps(told), file=sys.stderr, flush=True)


def to_file(told):
    with open(os.environ["WIREFENCE_RESULTS"], "a") as stream:  # noqa: PTH123
        stream.write(json.dumps(told) + "\n")


def main():
    faults = set(sys.argv[1].split(",")) if len(sys.argv) > 1 else set()
    if "absent" in faults:
        sys.exit(4)
    actions = os.environ.get("WIREFENCE_ACTIONS", "alpha").split()
    tell = to_stderr if "stderr" in faults else to_file
    try:
        Client(faults, Pipes(direct="direct" in faults), tell, actions).run()
    except EOFError:
        if "lingers-at-eof" in faults:
            time.sleep(60)
        sys.exit(1)
    except (ValueError, TypeError, KeyError):
        sys.exit(1)
    if "lingers" in faults:
        time.sleep(60)


if __name__ == "__main__":
    main()
