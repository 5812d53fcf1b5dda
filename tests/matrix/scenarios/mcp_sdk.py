"""Plays a client of `lazaret mcp` by the official library: client.py WORKSPACE LAZARET mcp"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(workspace, command, *arguments):
    server = StdioServerParameters(
        command=command, args=list(arguments), env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()

            async def call(tool, **given):
                result = await session.call_tool(tool, given)
                is_error = getattr(result, "is_error", None)
                if is_error is None:
                    is_error = getattr(result, "isError", False)
                return json.loads(result.content[0].text), bool(is_error)

            async def did(tool, **given):
                said, is_error = await call(tool, **given)
                assert not is_error, (tool, said)
                return said

            names = [tool.name for tool in (await session.list_tools()).tools]
            assert "session_start" in names and len(names) == 16, names
            started = await did(
                "session_start",
                profile="mine",
                workspace=workspace,
                name="s",
                command=["sh", "-c", "echo hello; echo new > made"],
            )
            assert started == {"session": "s"}, started
            ended = await did("session_wait", session="s")
            assert (ended["came"], ended["exit_code"]) == ("ended", 0), ended
            log = await did("session_log", session="s")
            assert log["text"] == "hello\n", log
            diff = await did("session_diff", session="s")
            assert "+new" in diff["text"], diff
            review = await did("session_review", session="s")
            assert review["command"] == "lazaret review s", review
            said, is_error = await call("session_get", session="unknown")
            assert is_error and said["error"]["kind"] == "refused", said
    print("the library is content")


asyncio.run(main(*sys.argv[1:]))
