"""A client of the official Python SDK, made visible to `wirefence gate --client`.

wirefence gate --client -- python examples/gate-client/python_sdk_client.py
"""

import asyncio
import json
import os
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    """Make the calls that are asked for, and report what came of each."""
    server = StdioServerParameters(command=os.environ["WIREFENCE_SERVER"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        for action in os.environ["WIREFENCE_ACTIONS"].split():
            try:
                result = await session.call_tool("record", {"action": action})
                told = {"action": action, "result": result.content[0].text}
            except Exception as error:  # noqa: BLE001 - whatever the client says of a failure
                told = {"action": action, "error": str(error)}
            with Path(os.environ["WIREFENCE_RESULTS"]).open("a") as results:
                results.write(json.dumps(told) + "\n")


asyncio.run(main())
