"""Clicks what an operator is asked about, with the public Python MCP client, and is led to the page where they answer.

usage: approving.py MODE URL KEY PAGE      MODE: auto (2026-07-28) or legacy (2025-11-25)
"""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult


async def led(context, params):
    assert params.mode == "url", params
    print(f"led {params.url}", flush=True)
    return ElicitResult(action="accept")


async def main():
    mode, url, key, page = sys.argv[1:]
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=led) as client:
            opened = await client.call_tool("browser_open_session", {})
            session = {"session_id": opened.structured_content["session_id"]}
            await client.call_tool("browser_navigate", {**session, "url": page})
            for _ in range(3):
                clicked = await client.call_tool(
                    "browser_click", {**session, "role": "button", "name": "Delete item"})
                fields = clicked.structured_content
                code = fields["error"]["code"] if clicked.is_error else fields["url"]
                print(f"{client.protocol_version} {code}", flush=True)


asyncio.run(main())
