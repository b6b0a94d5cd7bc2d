"""A server that serves every list and all kinds of content, and the same with wrong answers.

``python answers.py FOLDER [FAULT]...``: each fault changes what one method is answered with.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from server import Strict, serve

ICON = {"src": "https://example.org/i.png", "mimeType": "image/png", "sizes": ["48x48"]}
NOTES = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}
MORE = {"_meta": {"example.org/x": [1]}, "own": {"anything": None}}
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DATA = "AAAA"
TOOL = {
    "name": "record",
    "title": "Record",
    "description": "",
    "inputSchema": {
        "type": "object",
        "properties": {"action": {"type": "string"}},
        "required": ["action"],
        "additionalProperties": False,
    },
    "outputSchema": OUTPUT,
    "annotations": {"readOnlyHint": False, "title": "t", "own": 1},
    "execution": {"taskSupport": "forbidden"},
    "icons": [ICON],
    **MORE,
}
CONTENTS = [
    {"uri": "file:///a", "text": "", "mimeType": "text/plain", **MORE},
    {"uri": "file:///b", "blob": DATA},
]
RESOURCE = {"uri": "file:///a", "name": "a", "size": 5, "annotations": NOTES, "icons": [], **MORE}
PAGES: dict[str, list[dict[str, Any]]] = {
    "tools/list": [{"tools": [TOOL], "nextCursor": "é"}, {"tools": [], **MORE}],
    "prompts/list": [
        {"prompts": [], "nextCursor": "1"},
        {"prompts": [{"name": "p", "arguments": [{"name": "a", "required": True}], **MORE}]},
    ],
    "resources/list": [{"resources": [RESOURCE], "nextCursor": "1"}, {"resources": [RESOURCE]}],
    "resources/templates/list": [
        {"resourceTemplates": [{"uriTemplate": "file:///{x}", "name": "t", "annotations": NOTES}]}
    ],
}
"""Each list, page by page."""

RIGHT: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {
            "tools": {"listChanged": True},
            "prompts": {},
            "resources": {"subscribe": False},
            "logging": {},
            "experimental": {"x": {}},
            "own": 5,
        },
        "serverInfo": {"name": "answers", "version": "1", "icons": [ICON], "own": 1},
        "instructions": "",
        **MORE,
    },
    "tools/call": {
        "content": [
            {"type": "text", "text": "", "annotations": NOTES, **MORE},
            {"type": "image", "data": DATA, "mimeType": "image/png"},
            {"type": "audio", "data": DATA, "mimeType": "audio/wav"},
            {"type": "resource_link", **RESOURCE},
            *({"type": "resource", "resource": each} for each in CONTENTS),
        ],
        "structuredContent": {"n": 1, "own": None},
        "isError": False,
        **MORE,
    },
    "ping": {**MORE},
}

GONE = object()
"""In place of a value: there is none."""
CALL, HELLO = "tools/call", "initialize"
FAULTS: dict[str, tuple[str, str, Any]] = {
    "server-name": (HELLO, "serverInfo.name", 5),
    "capabilities-list": (HELLO, "capabilities.tools.listChanged", "yes"),
    "logging-list": (HELLO, "capabilities.logging", []),
    "server-version": (HELLO, "serverInfo.version", GONE),
    "instructions": (HELLO, "instructions", ["read me"]),
    "input-schema": ("tools/list", "tools.0.inputSchema.type", "array"),
    "tool-schema-missing": ("tools/list", "tools.0.inputSchema", GONE),
    "tool-notes": ("tools/list", "tools.0.annotations", "reads only"),
    "tools-cursor": ("tools/list", "nextCursor", 5),
    "prompts-name": ("prompts/list", "prompts.0.name", GONE),
    "prompts-missing": ("prompts/list", "prompts", GONE),
    "resource-uri": ("resources/list", "resources.0.uri", GONE),
    "resource-format": ("resources/list", "resources.0.uri", "no uri"),
    "template": ("resources/templates/list", "resourceTemplates.0.uriTemplate", "file:///{x"),
    "text-missing": (CALL, "content.0.text", GONE),
    "content-string": (CALL, "content", "ok"),
    "image-type": (CALL, "content.1.mimeType", GONE),
    "image-data": (CALL, "content.1.data", "no base64"),
    "content-type": (CALL, "content.2.type", "video"),
    "priority": (CALL, "content.0.annotations.priority", 7),
    "is-error": (CALL, "isError", "yes"),
    "structured-list": (CALL, "structuredContent", [1]),
    "structured-schema": (CALL, "structuredContent", {"n": "1"}),
    "structured-missing": (CALL, "structuredContent", GONE),
}
"""Method, place and value of each wrong answer."""

NOTIFIED: dict[str, tuple[str, dict[str, Any]]] = {
    "level": ("message", {"level": [], "data": 1}),
    "progress": ("progress", {"progress": 1}),
    "updated": ("resources/updated", {}),
}
"""What is sent before each result of a call."""

UNSERVED = {"no-prompts": "prompts/list", "no-templates": "resources/templates/list"}


class Answers(Strict):
    """Answers well, but for its faults."""

    faults: tuple[str, ...] = ()

    def line(self, line: bytes) -> bytes:
        out = super().line(line)
        if not out or b'"id"' not in line:
            return out
        asked, said = json.loads(line), json.loads(out)
        method = asked["method"]
        if method in PAGES and said.get("error", {}).get("code", -32601) == -32601:
            self.turn_page(method, asked, said)
        elif method in RIGHT and "result" in said:
            said["result"] = RIGHT[method]
        if "result" in said:
            said["result"] = self.spoil(method, said["result"])
        return self.notify(method) + json.dumps(said).encode() + b"\n"

    def turn_page(self, method: str, asked: dict[str, Any], said: dict[str, Any]) -> None:
        if method in map(UNSERVED.get, self.faults):
            return
        cursor = asked.get("params", {}).get("cursor")
        said.pop("error", None)
        said["result"] = PAGES[method][cursor is not None]

    def spoil(self, method: str, right: dict[str, Any]) -> dict[str, Any]:
        result = copy.deepcopy(right)
        for name in self.faults:
            where, place, value = FAULTS.get(name, ("", "", None))
            if where == method and result.get(place.partition(".")[0]) != []:
                *path, last = place.split(".")
                inner: Any = result
                for each in path:
                    inner = inner[int(each)] if isinstance(inner, list) else inner[each]
                inner[last] = value
                if value is GONE:
                    del inner[last]
        return result

    def notify(self, method: str) -> bytes:
        if method != CALL:
            return b""
        sent = [NOTIFIED[name] for name in self.faults if name in NOTIFIED]
        return b"".join(
            json.dumps(
                {"jsonrpc": "2.0", "method": f"notifications/{what}", "params": params}
            ).encode()
            + b"\n"
            for what, params in sent
        )


if __name__ == "__main__":
    answers = Answers(Path(sys.argv[1]))
    answers.faults = tuple(sys.argv[2:])
    sys.exit(serve(answers))
