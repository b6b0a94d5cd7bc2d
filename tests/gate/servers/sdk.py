"""The official Python SDK with one tool: ``python sdk.py FOLDER`` makes a file for each call."""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

app = MCPServer("recorder")


@app.tool()
def record(action: str) -> str:
    """Make a file."""
    (Path(sys.argv[1]) / action.replace("/", "_")).write_text("acted")
    return action


app.run()
