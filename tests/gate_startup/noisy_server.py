"""A strict, silent MCP server with one planted fault, named by its first argument; "" for none."""
# ruff: noqa: C901, PLR0912, PTH112, PTH208
# One plain line of branches is the easiest list of faults to read.

import atexit
import json
import os
import signal
import sys
import time

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""


def out(text):
    os.write(1, text.encode())


def on_signal(number, frame):
    out("caught signal, bye\n")
    os._exit(0)


LOGGED = {
    "stderr-merged": b"loading ... ",
    "logs": b"2026-11-30T09:00:01Z started, process %d\n\nready\n" % os.getpid(),
}


def noise():
    env = os.environ
    if FAULT == "verbose" and "DEBUG" in env:
        out("debug mode on\n")
    if FAULT == "verbose-and-warned" and "DEBUG" in env and sys.warnoptions:
        out("both\n")
    if FAULT == "verbose-mcp" and env.get("FASTMCP_LOG_LEVEL") == "DEBUG":
        out("DEBUG fastmcp\n")
    if FAULT == "verbose-python" and sys.flags.dev_mode:
        out("dev mode\n")
    if FAULT == "verbose-node" and "NODE_DEBUG" in env:
        out("NET 1: hello\n")
    if FAULT == "verbose-native" and env.get("RUST_LOG"):
        out("TRACE hello\n")
    if FAULT == "verbose-jvm" and env.get("LOGGING_LEVEL_ROOT"):
        out("DEBUG spring\n")
    if FAULT == "verbose-dotnet" and "Logging__LogLevel__Default" in env:
        out("trce: Host[0]\n")
    if FAULT == "warnings" and sys.warnoptions:
        out("DeprecationWarning: old\n")
    if FAULT == "colour-forced" and env.get("FORCE_COLOR"):
        out("\x1b[32mready\x1b[0m\n")
    if FAULT == "term-unset" and "TERM" not in env:
        out("tput: No value for $TERM\n")
    if FAULT == "term-odd" and env.get("TERM") == "zz-9":
        out("unknown terminal type\n")
    if FAULT == "no-configuration" and not os.listdir("."):
        out("no configuration found, using defaults\n")
        sys.exit(3)
    if FAULT == "recoverable-failure" and not os.path.isdir(env.get("HOME", "/")):
        out("cannot write cache, going on\n")
    if FAULT == "sigterm-in-flight":
        signal.signal(signal.SIGTERM, on_signal)
    if FAULT == "sigint-in-flight":
        signal.signal(signal.SIGINT, on_signal)
    if FAULT == "crash-handler":
        signal.signal(signal.SIGABRT, on_signal)
    if FAULT in LOGGED:
        os.write(2, LOGGED[FAULT])
    if FAULT == "stderr-closed":
        try:
            os.write(2, b"started\n")
        except OSError:
            out("stderr is closed\n")
    if FAULT == "always":
        out(f"listening since {time.time()}\n")
    if FAULT == "idle-start":
        signal.signal(signal.SIGALRM, lambda *_: out("still waiting for a client\n"))
        signal.setitimer(signal.ITIMER_REAL, 0.7)
    if FAULT == "torn" and env.get("TERM") == "zz-9":
        atexit.register(out, '{"jsonrpc":')


noise()
FIRST = True
while True:
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        if FIRST and FAULT == "eof-at-once":
            out("no input, no client\n")
            sys.exit(1)
        break
    if FIRST:
        signal.setitimer(signal.ITIMER_REAL, 0)
        FIRST = False
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {}
    if message["method"] == "initialize":
        info = {"name": "noisy", "version": "1"}
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    elif FAULT == "mute-when-odd" and os.environ.get("TERM") == "zz-9":
        time.sleep(60)
    if message["method"] == "tools/list":
        result = {"tools": []}
    out(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
