"""Orders a mug in the demo shop with the public Python MCP client, and shows each call with its reply.

usage: first_order.py CONFIGURATION

The configuration is a file such as Cursor's, with the address of a server and the headers to send.
"""

import asyncio
import json
import sys
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CALLS = [
    ("browser_navigate", {"url": "http://shop.test/"}),
    ("browser_click", {"role": "link", "name": "Stoneware mug"}),
    ("browser_click", {"role": "link", "name": "Order this"}),
    ("browser_type", {"role": "textbox", "name": "Name", "text": "Ada Byron"}),
    ("browser_type", {"role": "textbox", "name": "Address", "text": "12 Engine Row, London"}),
    ("browser_click", {"role": "button", "name": "Place order"}),
    ("browser_close_session", {}),
]


def show(text):
    print(text, flush=True)


async def call(client, name, arguments):
    show(f"> {name} {json.dumps(arguments)}")
    result = await client.call_tool(name, arguments)
    show(result.content[0].text.strip())
    if result.is_error:
        sys.exit(1)
    return result.structured_content


async def main():
    server = json.loads(Path(sys.argv[1]).read_text())["mcpServers"]["stockade"]
    async with httpx2.AsyncClient(headers=server["headers"], timeout=60) as http:
        async with Client(streamable_http_client(server["url"], http_client=http)) as client:
            opened = await call(client, "browser_open_session", {})
            for name, arguments in CALLS:
                await call(client, name, {"session_id": opened["session_id"], **arguments})


asyncio.run(main())
