"""Clicks what an operator is asked about, with the public Python MCP client, and is led to the page where they answer.

usage: approving.py http MODE PAGE URL KEY      MODE: auto (2026-07-28) or legacy (2025-11-25)
       approving.py stdio MODE PAGE COMMAND [ARGUMENT ...]

OPEN_SESSION is JSON with arguments for the session; BUTTONS are the names of the buttons, separated by commas.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult


OPEN_SESSION = json.loads(os.environ.get("OPEN_SESSION", "{}"))
BUTTONS = os.environ.get("BUTTONS", "Delete item,Delete item,Delete item").split(",")


async def led(context, params):
    assert params.mode == "url", params
    print(f"led {params.url}", flush=True)
    return ElicitResult(action="accept")


async def drive(client, page):
    opened = await client.call_tool("browser_open_session", OPEN_SESSION)
    session = {"session_id": opened.structured_content["session_id"]}
    await client.call_tool("browser_navigate", {**session, "url": page})
    for button in BUTTONS:
        clicked = await client.call_tool("browser_click", {**session, "role": "button", "name": button})
        fields = clicked.structured_content
        came_to = fields["error"]["code"] if clicked.is_error else fields["url"]
        print(f"{client.protocol_version} {came_to}", flush=True)


async def main():
    kind, mode, page, *rest = sys.argv[1:]
    if kind == "stdio":
        server = StdioServerParameters(command=rest[0], args=rest[1:])
        async with Client(server, mode=mode, elicitation_callback=led) as client:
            await drive(client, page)
    else:
        url, key = rest
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=led) as client:
                await drive(client, page)


asyncio.run(main())
