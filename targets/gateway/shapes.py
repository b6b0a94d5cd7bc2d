"""Whether params are what the protocol demands of the messages that the gateway understands.

A check is a predicate on a JSON value; those of objects and arrays are built of others. They are
the gateway's own reading of the schema of each protocol version, so that another reading can be
held against them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_letters, digits, hexdigits
from typing import Any

from wirefence.strategies.records import Version
from wirefence.targets.gateway.rpc import is_integer, is_number

__all__ = ["fits_meta", "fits_params"]

Check = Callable[[Any], bool]
_PREFIX = "io.modelcontextprotocol/"
_STATELESS = "2026-07-28"

_UNRESERVED = {*ascii_letters, *digits, *"-._~"}
_PATH = _UNRESERVED | {*"!$&'()*+,;=%:@/"}
_BASE64 = {*ascii_letters, *digits, *"+/"}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_token(value: object) -> bool:
    return isinstance(value, str) or is_integer(value)


def _is_priority(value: object) -> bool:
    return is_number(value) and 0 <= value <= 1  # type: ignore[operator]


def _is_anything(_value: object) -> bool:
    return True


def _is_uri(value: object) -> bool:
    """RFC 3986, appendix A; what an IP literal holds is checked for its characters only."""
    if not isinstance(value, str):
        return False
    rest, _, fragment = value.partition("#")
    rest, _, query = rest.partition("?")
    scheme, colon, rest = rest.partition(":")
    known = colon and scheme[:1] in ascii_letters and {*scheme} <= {*ascii_letters, *digits, *"+-."}
    if not scheme or not known or not {*query, *fragment} <= _PATH | {"?"}:
        return False
    return _has_whole_escapes(value) and _is_hierarchy(rest)


def _is_hierarchy(rest: str) -> bool:
    """Whether some text may follow the colon of a URI, up to its query."""
    if not rest.startswith("//"):
        return {*rest} <= _PATH
    authority, _, path = rest[2:].partition("/")
    user, _, host = authority.rpartition("@")
    if host.startswith("["):
        literal, bracket, port = host[1:].partition("]")
        sound = bracket and literal and {*literal} <= _PATH - {*"@/"} and port[:1] in ("", ":")
        port = port[1:]
    else:
        name, _, port = host.partition(":")
        sound = {*name} <= _PATH - {*":@/"}
    return bool(sound) and {*user} <= _PATH - {*"@/"} and {*port} <= {*digits} and {*path} <= _PATH


def _has_whole_escapes(text: str) -> bool:
    return all(
        len(part) > 1 and part[0] in hexdigits and part[1] in hexdigits
        for part in text.split("%")[1:]
    )


def _is_base64(value: object) -> bool:
    """RFC 4648, section 4, with padding."""
    if not isinstance(value, str) or len(value) % 4:
        return False
    bare = value[:-2] + value[-2:].rstrip("=")
    return {*bare} <= _BASE64


def _members(required: Mapping[str, Check], **optional: Check) -> Check:
    checks = {**required, **optional}

    def fits(value: object) -> bool:
        if not isinstance(value, dict) or not required.keys() <= value.keys():
            return False
        return all(checks[name](each) for name, each in value.items() if name in checks)

    return fits


def _items(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _values(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _among(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def _either(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


_ICON = _members(
    {"src": _is_uri}, mimeType=_is_text, sizes=_items(_is_text), theme=_among("dark", "light")
)
_NAMED: Mapping[str, Check] = {"name": _is_text, "version": _is_text}
_TITLED = _members(_NAMED, title=_is_text)
_DESCRIBED = _members(
    _NAMED, title=_is_text, description=_is_text, icons=_items(_ICON), websiteUrl=_is_uri
)
_INFO: Mapping[Version, Check] = {
    "2024-11-05": _members(_NAMED),
    "2025-03-26": _members(_NAMED),
    "2025-06-18": _TITLED,
    "2025-11-25": _DESCRIBED,
    "2026-07-28": _DESCRIBED,
}
"""``Implementation``: who a client says that it is."""

_ROOTS = _members({}, listChanged=_is_flag)
_MODES = _members({}, form=_is_object, url=_is_object)
_SAMPLING = _members({}, context=_is_object, tools=_is_object)
_TASKS = _members(
    {},
    cancel=_is_object,
    list=_is_object,
    requests=_members(
        {},
        elicitation=_members({}, create=_is_object),
        sampling=_members({}, createMessage=_is_object),
    ),
)


def _capabilities(**known: Check) -> Check:
    return _members({}, experimental=_values(_is_object), **known)


_FIRST = _capabilities(roots=_ROOTS, sampling=_is_object)
_CAPABILITIES: Mapping[Version, Check] = {
    "2024-11-05": _FIRST,
    "2025-03-26": _FIRST,
    "2025-06-18": _capabilities(roots=_ROOTS, sampling=_is_object, elicitation=_is_object),
    "2025-11-25": _capabilities(roots=_ROOTS, sampling=_SAMPLING, elicitation=_MODES, tasks=_TASKS),
    "2026-07-28": _capabilities(
        roots=_is_object,
        sampling=_SAMPLING,
        elicitation=_MODES,
        extensions=_values(_is_object),
    ),
}
"""``ClientCapabilities``."""

_ROLE = _among("assistant", "user")
_NOTES = _members({}, audience=_items(_ROLE), lastModified=_is_text, priority=_is_priority)


def _content(kind: str, required: Mapping[str, Check], **optional: Check) -> Check:
    """Return the check of one kind of content."""
    return _members({"type": _among(kind), **required}, _meta=_is_object, **optional)


_FILE: Mapping[str, Check] = {"data": _is_base64, "mimeType": _is_text}
_PLAIN = (
    _content("text", {"text": _is_text}, annotations=_NOTES),
    _content("image", _FILE, annotations=_NOTES),
    _content("audio", _FILE, annotations=_NOTES),
)
_RESOURCE = _either(
    _members({"uri": _is_uri, "text": _is_text}, mimeType=_is_text, _meta=_is_object),
    _members({"uri": _is_uri, "blob": _is_base64}, mimeType=_is_text, _meta=_is_object),
)
_LINK = _content(
    "resource_link",
    {"name": _is_text, "uri": _is_uri},
    annotations=_NOTES,
    description=_is_text,
    icons=_items(_ICON),
    mimeType=_is_text,
    size=is_integer,
    title=_is_text,
)
_BLOCK = _either(*_PLAIN, _LINK, _content("resource", {"resource": _RESOURCE}, annotations=_NOTES))
_SAMPLED = _either(
    *_PLAIN,
    _content("tool_use", {"id": _is_text, "input": _is_object, "name": _is_text}),
    _content("tool_result", {"content": _items(_BLOCK), "toolUseId": _is_text}, isError=_is_flag),
)
_RESPONSE = _either(
    _members(
        {"content": _either(_SAMPLED, _items(_SAMPLED)), "model": _is_text, "role": _ROLE},
        _meta=_is_object,
        stopReason=_is_text,
    ),
    _members({"roots": _items(_members({"uri": _is_uri}, name=_is_text, _meta=_is_object))}),
    _members(
        {"action": _among("accept", "cancel", "decline")},
        content=_values(_either(_items(_is_text), _is_text, is_number, _is_flag)),
    ),
)
"""``InputResponse``: what a client answers to what a tool asked for."""

_CALL: Mapping[str, Check] = {"name": _is_text}
_CALL_ADDED: Mapping[Version, Mapping[str, Check]] = {
    "2025-11-25": {"task": _members({}, ttl=is_integer)},
    "2026-07-28": {"inputResponses": _values(_RESPONSE), "requestState": _is_text},
}
_TASK = _members(
    {
        "createdAt": _is_text,
        "lastUpdatedAt": _is_text,
        "status": _among("cancelled", "completed", "failed", "input_required", "working"),
        "taskId": _is_text,
        "ttl": _either(is_integer, lambda value: value is None),
    },
    pollInterval=is_integer,
    statusMessage=_is_text,
)
_LEVEL = _among(
    *("alert", "critical", "debug", "emergency", "error", "info", "notice", "warning"),
)


def _make_params(version: Version) -> dict[str, Check]:
    """Return the checks of the params of each method that the gateway understands."""
    told = {} if version == "2025-11-25" else {"requestId": _is_token}
    said = {} if version == "2024-11-05" else {"message": _is_text}
    return {
        "initialize": _members(
            {
                "protocolVersion": _is_text,
                "capabilities": _CAPABILITIES[version],
                "clientInfo": _INFO[version],
            }
        ),
        "tools/list": _members({}, cursor=_is_text),
        "tools/call": _members(_CALL, arguments=_is_object, **_CALL_ADDED.get(version, {})),
        "notifications/cancelled": _members(told, reason=_is_text, requestId=_is_token),
        "notifications/progress": _members(
            {"progressToken": _is_token, "progress": is_number}, total=is_number, **said
        ),
        "notifications/tasks/status": _TASK,
    }


_PARAMS: Mapping[Version, Mapping[str, Check]] = {
    version: _make_params(version) for version in _INFO
}


def fits_params(method: str, params: Mapping[str, Any] | None, version: Version) -> bool:
    """Whether the params of a method that the gateway understands are as the version demands.

    ``None`` stands for absent ones, where they are not the same as empty ones.
    """
    if params is None and method == "notifications/cancelled":
        return False
    return _PARAMS[version].get(method, _is_anything)(params or {})


def fits_meta(meta: object, version: Version, *, request: bool) -> bool:
    """Whether ``_meta`` of a request, or of a notification, is as the version demands."""
    return _META[version, request](meta)


def _make_meta(version: Version, *, request: bool) -> Check:
    if version == _STATELESS and request:
        return _members(
            {
                f"{_PREFIX}clientCapabilities": _CAPABILITIES[version],
                f"{_PREFIX}protocolVersion": _is_text,
            },
            **{f"{_PREFIX}clientInfo": _INFO[version], f"{_PREFIX}logLevel": _LEVEL},
            progressToken=_is_token,
        )
    if version == _STATELESS:
        return _members({}, **{f"{_PREFIX}subscriptionId": _is_token})
    return _members({}, progressToken=_is_token) if request else _is_object


_META: Mapping[tuple[Version, bool], Check] = {
    (version, request): _make_meta(version, request=request)
    for version in _INFO
    for request in (True, False)
}
