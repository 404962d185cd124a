"""Calls a tool before and after a restart of the server, with the public Python MCP client of the 2025 revisions.

usage: restart.py URL KEY      says `ready`, then waits for the end of its input
"""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main():
    url, key = sys.argv[1:]
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http), mode="legacy") as client:
            opened = await client.call_tool("browser_open_session", {})
            session = {"session_id": opened.structured_content["session_id"]}
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.read)
            try:
                await client.call_tool("browser_read", session)
            except Exception as error:
                print(str(error).replace("\n", " "), flush=True)
        async with Client(streamable_http_client(url, http_client=http), mode="legacy") as client:
            late = await client.call_tool("browser_read", session)
            assert "A restart of the server ends all sessions" in late.structured_content["error"]["hint"], late
            print(late.structured_content["error"]["code"], flush=True)


asyncio.run(main())
