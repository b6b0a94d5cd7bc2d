"""The two ways in which a frame is not granted, as exceptions that carry no content.

What is answered follows from the rule alone. Code and text are constants of the
rule's layer, so that nothing a peer has sent can come back in an error message.
"""

from __future__ import annotations

__all__ = ["Layer", "RefusedError", "RejectedError", "layer_of"]

Layer = str
"""One of framing, utf8, json, rpc, message, lifecycle, tool, identity, authorization."""

_LAYERS: dict[str, Layer] = {
    "frame": "framing",
    "utf8": "utf8",
    "json": "json",
    "rpc": "rpc",
    "mcp": "message",
    "life": "lifecycle",
    "tool": "tool",
    "identity": "identity",
    "authz": "authorization",
}
_REJECTIONS: dict[Layer, tuple[int, str]] = {
    "framing": (-32700, "Parse error"),
    "utf8": (-32700, "Parse error"),
    "json": (-32700, "Parse error"),
    "rpc": (-32600, "Invalid request"),
    "message": (-32602, "Invalid params"),
    "lifecycle": (-32600, "Invalid request"),
}
_REFUSALS: dict[str, tuple[int, str]] = {
    "mcp-method": (-32601, "Method not found"),
    "mcp-version": (-32022, "Unsupported protocol version"),
    "tool-unknown": (-32602, "Unknown tool"),
    "tool-arguments": (-32602, "Invalid arguments"),
    "tool-unknown-argument": (-32602, "Invalid arguments"),
    "identity-unknown": (-32001, "Unknown identity"),
    "authz-denied": (-32003, "Permission denied"),
}


class RejectedError(Exception):
    """The frame breaks ``rule``: it has no effect and leaves no state."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.code, self.text = _REJECTIONS[layer_of(rule)]


class RefusedError(Exception):
    """The request is well-formed but not granted; ``data`` is what its error must add, if any."""

    def __init__(self, rule: str, data: dict[str, object] | None = None) -> None:
        super().__init__(rule)
        self.rule = rule
        self.data = data
        self.code, self.text = _REFUSALS[rule]


def layer_of(rule: str) -> Layer:
    """The layer a rule belongs to; its first word says which."""
    return _LAYERS[rule.partition("-")[0]]
