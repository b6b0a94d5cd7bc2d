"""A line server for tests of recorders: `VERB NONCE` acts, `idle NONCE` doesn't, each is answered.

Runs on Python 3.8 and later.
"""
# ruff: noqa: PTH104, PTH107, PTH123, SIM105, T201
# Plain calls are what is to be seen; stdout is the protocol.

import os
import socket
import subprocess
import sys
import urllib.request


def connect(nonce):
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect("\0" + nonce)
        except OSError:
            pass


def write(nonce):
    with open(nonce + ".txt", "w") as stream:
        stream.write("x")


def fill(nonce):
    with open("journal.log", "a") as stream:
        stream.write(nonce + "\n")


def rename(nonce):
    write(nonce)
    os.rename(nonce + ".txt", nonce + ".new")


def delete(nonce):
    write(nonce)
    os.remove(nonce + ".txt")


def run(nonce):
    subprocess.run(["echo", nonce], check=True, stdout=subprocess.DEVNULL)


def ssh(nonce):
    subprocess.run(["ssh", "host.invalid", "touch", nonce], input=b"", check=True)


def ssh_stdin(nonce):
    subprocess.run(["ssh", "host.invalid"], input=nonce.encode(), check=True)


def ssh_inherits(nonce):
    subprocess.run(["ssh", "host.invalid", nonce], check=True)


def http(nonce):
    request = urllib.request.Request(
        "http://service.invalid/run", data=nonce.encode(), headers={"X-A": "b"}
    )
    urllib.request.urlopen(request, timeout=20).read()


def base_url(nonce):
    urllib.request.urlopen(os.environ["WIREFENCE_HTTP"] + "/" + nonce, timeout=20).read()


def idle(nonce):
    with open(__file__) as stream:
        stream.read()


while True:
    line = sys.stdin.readline()
    if not line:
        break
    verb, nonce = line.split()
    globals()[verb](nonce)
    print("done", nonce, flush=True)
