"""The client of the Python SDK, with a key: it lists the tools and calls one."""

import asyncio
import json
import os

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main() -> None:
    http = create_mcp_http_client(headers={"X-API-Key": os.environ["KEY"]})
    transport = streamable_http_client(os.environ["URL"] + "/mcp", http_client=http)
    async with Client(transport) as client:
        tools = (await client.list_tools()).tools

        async def call(name: str, **arguments: object) -> dict:
            result = await client.call_tool(name, arguments)
            return json.loads(result.content[0].text)

        found = await call("search_operations", query="list users")
        operation = found["operations"][0]["operation"]
        page = await call("read_operation", operation=operation, parameters={"limit": 1})
        line = {
            "revision": client.protocol_version,
            "tools": len(tools),
            "operation": operation,
            "status": page["status"],
        }
        print(json.dumps(line))


asyncio.run(main())
