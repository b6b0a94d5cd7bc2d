"""A server on a Python framework whose one tool appends its argument to a file.

``python recorder.py FRAMEWORK FOLDER``; the frameworks are those of ``_FRAMEWORKS``.
"""

import importlib
import sys
from pathlib import Path

_FRAMEWORKS = {
    "mcp-1": ("mcp.server.fastmcp", "FastMCP"),
    "mcp-2": ("mcp.server.mcpserver", "MCPServer"),
    "fastmcp": ("fastmcp", "FastMCP"),
}
_module, _kind = _FRAMEWORKS[sys.argv[1]]
_folder = Path(sys.argv[2])
_folder.mkdir(parents=True, exist_ok=True)
app = getattr(importlib.import_module(_module), _kind)("recorder")


@app.tool()
def record(action: str) -> str:
    """Append a line."""
    with (_folder / "acts").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{action}\n")
    return action


app.run()
