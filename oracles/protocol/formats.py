"""Check strings against the formats that the protocol's schemas name.

A string is accepted where its RFC leaves a doubt. Each expression takes time linear in the length
of the string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

__all__ = ["FORMATS"]

_SEGMENT = r"A-Za-z0-9\-._~!$&'()+,;=*%"
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:"
    rf"(?://(?:[{_SEGMENT}:]*@)?(?:\[[{_SEGMENT}:]+\]|[{_SEGMENT}]*)(?::[0-9]*)?(?:/[{_SEGMENT}:@/]*)?"
    rf"|(?!//)[{_SEGMENT}:@/]*)"
    rf"(?:\?[{_SEGMENT}:@/?]*)?(?:#[{_SEGMENT}:@/?]*)?"
)
_LITERALS = r"""[^\x00-\x20"<>\\^`{|}\x7f-\x9f\ud800-\udfff]*"""
_VARIABLE = r"[A-Za-z0-9_%]+(?:\.[A-Za-z0-9_%]+)*(?::[1-9][0-9]{0,3}|\*)?"
_URI_TEMPLATE = re.compile(
    rf"{_LITERALS}(?:\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}}{_LITERALS})*"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def is_uri(text: str) -> bool:
    """Whether ``text`` is a URI with a scheme: RFC 3986, appendix A.

    What the brackets of an IP literal hold is not checked, but for its characters.
    """
    return _URI.fullmatch(text) is not None and not _STRAY_PERCENT.search(text)


def is_uri_template(text: str) -> bool:
    """Whether ``text`` is a URI template: RFC 6570, section 2, reserved operators included.

    The apostrophe is a literal, as erratum 6937 says.
    """
    return _URI_TEMPLATE.fullmatch(text) is not None and not _STRAY_PERCENT.search(text)


def is_base64(text: str) -> bool:
    """Whether ``text`` is base64 with padding: RFC 4648, section 4; unused bits may be set."""
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": is_base64,
    "uri": is_uri,
    "uri-template": is_uri_template,
}
"""The check of each format, by the name that the schemas give it."""
