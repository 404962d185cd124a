"""Takes the demo shop from open to click to close with the public Python MCP client, once for each mode.

usage: client.py stdio MODES COMMAND [ARGUMENT ...]      MODES: auto (2026-07-28), legacy (2025-11-25), or both, with a comma
       client.py http MODES URL KEY
"""

import asyncio
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TOOLS = {
    "browser_open_session", "browser_navigate", "browser_click", "browser_type",
    "browser_read", "browser_screenshot", "browser_close_session",
}


def fields(result):
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def drive(client):
    tools = (await client.list_tools()).tools
    assert TOOLS <= {tool.name for tool in tools}, tools
    for tool in tools:
        assert tool.description and tool.input_schema and tool.output_schema and tool.annotations, tool.name

    opened = fields(await client.call_tool("browser_open_session", {"session_name": "python"}))
    session = {"session_id": opened["session_id"]}
    shop = fields(await client.call_tool("browser_navigate", {**session, "url": "http://shop.test/", "wait_for": "load"}))
    assert shop["url"] == "http://shop.test/" and shop["title"] and shop["snapshot"], shop
    found = fields(await client.call_tool(
        "browser_type", {"session_id": "python", "role": "searchbox", "text": "lamp", "submit": True}))
    assert "q=lamp" in found["url"], found
    stock = fields(await client.call_tool("browser_click", {**session, "role": "link", "name": "Stock"}))
    assert stock["url"].endswith("/stock"), stock
    read = fields(await client.call_tool("browser_read", {**session, "format": "tree"}))
    assert read["snapshot"]["role"] == "RootWebArea" and read["interactive_elements"] and read["text_content"], read

    picture = await client.call_tool("browser_screenshot", session)
    image = next(block for block in picture.content if block.type == "image")
    assert image.mime_type == "image/png", image.mime_type
    shot = fields(picture)
    resource = await client.read_resource(f"stockade://screenshots/{shot['screenshot_id']}")
    assert resource.contents[0].blob == image.data

    refused = await client.call_tool("browser_navigate", {**session, "url": "file:///etc/passwd"})
    assert refused.is_error and refused.structured_content["error"]["code"] == "bad_address", refused
    closed = fields(await client.call_tool("browser_close_session", session))
    assert closed["closed_at"], closed
    late = await client.call_tool("browser_read", session)
    assert late.is_error and late.structured_content["error"]["code"] == "session_ended:closed", late
    print(f"ok {client.protocol_version}")


async def main():
    transport, modes, *rest = sys.argv[1:]
    for mode in modes.split(","):
        await run(transport, mode, rest)


async def run(transport, mode, rest):
    if transport == "stdio":
        async with Client(StdioServerParameters(command=rest[0], args=rest[1:]), mode=mode) as client:
            await drive(client)
    else:
        url, key = rest
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
                await drive(client)


asyncio.run(main())
