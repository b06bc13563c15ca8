"""A host made with the official Python SDK: starts a server, does what it is told, and prints what came of it.

Usage: sdk_client.py MODE CALLS COMMAND...   with CALLS a JSON list of [tool, arguments].
"""
import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main():
    mode, calls, command = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    said = {"progress": []}

    async def progress(done, total, message):
        said["progress"].append(done)

    async with Client(parameters, mode=mode) as client:
        said["revision"] = client.protocol_version
        listed = await client.list_tools()
        said["tools"] = sorted(tool.name for tool in listed.tools)
        said["results"] = []
        for name, arguments in calls:
            try:
                result = await client.call_tool(name, arguments, progress_callback=progress)
                text = "".join(part.text for part in result.content if part.type == "text")
                said["results"].append({"error": bool(result.is_error), "text": text})
            except MCPError as why:
                said["results"].append({"refused": str(why)})
    print(json.dumps(said))


asyncio.run(main())
