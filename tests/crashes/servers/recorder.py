"""A server on the official Python SDK whose one tool appends its argument to a file.

``python recorder.py FOLDER`` makes the folder if need be: reproducers start it by this path.
"""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
app = MCPServer("recorder", version="1")


@app.tool()
def record(action: str) -> str:
    """Append a line."""
    with (folder / "acts").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(f"{action}\n")
    return action


app.run()
