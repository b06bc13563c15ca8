"""A server made with the official Python SDK."""
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("sdk", instructions="For tests.")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def peek(path: str) -> str:
    """Reads a file."""
    with open(path) as file:
        return file.read()


@server.tool()
async def count(to: int, context: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(to):
        await context.report_progress(step + 1, to)
    return "counted to %d" % to


server.run()
