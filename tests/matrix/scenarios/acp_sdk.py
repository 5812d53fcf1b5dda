"""Plays an editor of `lazaret acp` by the library: editor.py WORKSPACE LAZARET acp …"""

import asyncio
import os
import sys

from acp import PROTOCOL_VERSION, Client, RequestError, spawn_agent_process, text_block
from acp import resource_link_block
from acp.schema import (
    ClientCapabilities,
    FileSystemCapabilities,
    McpServerStdio,
    RequestPermissionResponse,
)


class Editor(Client):
    """Has files and terminals for an agent that asks."""

    def __init__(self):
        self.updates = []
        self.asked = []
        self.used = []

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call, options))
        chosen = {"outcome": "selected", "optionId": options[0].option_id}
        return RequestPermissionResponse.model_validate({"outcome": chosen})

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def read_text_file(self, *given, **_):
        self.used.append(given)
        return {"content": "secret"}

    async def write_text_file(self, *given, **_):
        self.used.append(given)

    async def create_terminal(self, *given, **_):
        self.used.append(given)
        return {"terminalId": "t"}

    def said(self):
        texts = [getattr(update, "content", None) for update in self.updates]
        self.updates = []
        return "".join(getattr(text, "text", "") for text in texts)


async def main(workspace, command, *arguments):
    editor = Editor()
    async with spawn_agent_process(
        editor, command, *arguments, env=dict(os.environ), cwd=os.getcwd()
    ) as (agent, _):
        files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        offered = ClientCapabilities(fs=files, terminal=True)
        began = await agent.initialize(
            protocol_version=PROTOCOL_VERSION, client_capabilities=offered
        )
        assert not began.auth_methods, began
        program = McpServerStdio(name="prog", command="sh", args=[], env=[])
        session = await agent.new_session(cwd=workspace, mcp_servers=[program])
        assert session.session_id == "s1", session

        async def turn(*blocks):
            ended = await agent.prompt(session_id="s1", prompt=list(blocks))
            assert ended.stop_reason == "end_turn", ended
            return editor.said()

        said = await turn(text_block("do:read"))
        assert "a is one" in said and '"prog"' in said, said
        await agent.prompt(session_id="s1", prompt=[text_block("do:write")])
        calls = [call for call in editor.updates if getattr(call, "locations", None)]
        places = [place.path for call in calls for place in call.locations]
        assert places == [workspace + "/made"], places
        assert "lazaret review s" in editor.said()
        link = resource_link_block("a", "file://" + workspace + "/a")
        assert "a is one" in await turn(text_block("do:read"), link)
        try:
            await turn(text_block("do:read"), resource_link_block("p", "file:///etc/passwd"))
            raise AssertionError("a link that leads out of the workspace was passed")
        except RequestError as error:
            assert error.code == -32602, error.code
        await turn(text_block("do:permission"))
        [(call, options)] = editor.asked
        assert call.title == "Run it" and options[0].option_id == "y", call
        try:
            await turn(text_block("do:attack"))
        except RequestError as error:
            assert error.code == -32603, error.code
        assert not editor.used, editor.used
    print("the library is content")


asyncio.run(main(*sys.argv[1:]))
