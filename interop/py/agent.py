"""An ACP agent made with the official Python SDK, for our client to drive. scripted_test.go says what it does."""

import asyncio
import json
import uuid

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    plan_entry,
    run_agent,
    start_tool_call,
    tool_diff_content,
    tool_terminal_ref,
    update_agent_message_text,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.helpers import update_current_mode
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    ToolCallUpdate,
)


class Session:
    def __init__(self, cwd):
        self.cwd, self.said, self.cancelled = cwd, [], asyncio.Event()


class Scripted:
    def on_connect(self, client):
        self.client, self.sessions = client, {}

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **kwargs):
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="scripted", version="1.0.0"),
            agent_capabilities=AgentCapabilities(
                load_session=True, session_capabilities=SessionCapabilities(list=SessionListCapabilities())
            ),
        )

    async def new_session(self, cwd, mcp_servers=None, **kwargs):
        session_id = str(uuid.uuid4())
        self.sessions[session_id] = Session(cwd)
        modes = SessionModeState(
            current_mode_id="ask", available_modes=[SessionMode(id="ask", name="Ask"), SessionMode(id="code", name="Code")]
        )
        return NewSessionResponse(session_id=session_id, modes=modes)

    async def load_session(self, cwd, session_id, mcp_servers=None, **kwargs):
        for prompt, answer in self.find(session_id).said:
            await self.client.session_update(session_id, update_user_message_text(prompt))
            await self.client.session_update(session_id, update_agent_message_text(answer))
        return LoadSessionResponse()

    async def list_sessions(self, cwd=None, cursor=None, **kwargs):
        return ListSessionsResponse(
            sessions=[SessionInfo(session_id=i, cwd=s.cwd) for i, s in self.sessions.items() if cwd in (None, s.cwd)]
        )

    async def set_session_mode(self, session_id, mode_id, **kwargs):
        self.find(session_id)
        await self.client.session_update(session_id, update_current_mode(mode_id))
        return SetSessionModeResponse()

    async def cancel(self, session_id, **kwargs):
        self.find(session_id).cancelled.set()

    async def ext_method(self, method, params):
        if method != "interop/echo":
            raise RequestError.method_not_found("_" + method)
        return params

    async def prompt(self, session_id, prompt, **kwargs):
        session = self.find(session_id)
        session.cancelled.clear()
        text = "".join(getattr(block, "text", "") for block in prompt)
        word, _, rest = text.partition(" ")
        if word == "wait":
            await session.cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        match word:
            case "create":
                answer = await self.create(session_id, *rest.split(": ", 1))
            case "read":
                answer = (await self.client.read_text_file(session_id=session_id, path=rest)).content
            case "run":
                answer = await self.run(session_id, rest)
            case "plan":
                steps = [plan_entry("look", priority="high", status="in_progress"), plan_entry("leap")]
                await self.client.session_update(session_id, update_plan(steps))
                answer = "planned"
            case "call":
                answer = await self.call(rest)
            case _:
                answer = f"You said: {text}"
        for part in answer.split(" "):
            await self.client.session_update(session_id, update_agent_message_text(part + " "))
        session.said.append((text, answer))
        return PromptResponse(stop_reason="end_turn")

    async def create(self, session_id, path, content):
        call = dict(title=f"Create {path}", kind="edit", status="pending", content=[tool_diff_content(path, content)])
        call_id = str(uuid.uuid4())
        await self.client.session_update(session_id, start_tool_call(call_id, **call))
        response = await self.client.request_permission(
            session_id=session_id,
            tool_call=ToolCallUpdate(tool_call_id=call_id, **call),
            options=[
                PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
                PermissionOption(option_id="no", name="Reject", kind="reject_once"),
            ],
        )
        allowed = getattr(response.outcome, "option_id", None) == "yes"
        if allowed:
            await self.client.write_text_file(session_id=session_id, path=path, content=content)
        await self.client.session_update(session_id, update_tool_call(call_id, status="completed" if allowed else "failed"))
        return "created" if allowed else "refused"

    async def run(self, session_id, command):
        call_id = str(uuid.uuid4())
        await self.client.session_update(session_id, start_tool_call(call_id, command, kind="execute", status="in_progress"))
        args = {"session_id": session_id}
        args["terminal_id"] = (await self.client.create_terminal(session_id=session_id, command="/bin/sh", args=["-c", command])).terminal_id
        shown = [tool_terminal_ref(args["terminal_id"])]
        await self.client.session_update(session_id, update_tool_call(call_id, content=shown))
        status = await self.client.wait_for_terminal_exit(**args)
        output = await self.client.terminal_output(**args)
        await self.client.release_terminal(**args)
        await self.client.session_update(session_id, update_tool_call(call_id, status="completed"))
        return f"exit {status.exit_code}: {output.output.strip()}"

    async def call(self, method):
        try:
            return "answer " + json.dumps(await self.client.ext_method(method.removeprefix("_"), {"x": 1}))
        except RequestError as error:
            return f"error {error.code}"

    def find(self, session_id):
        if session_id not in self.sessions:
            raise RequestError.resource_not_found(session_id)
        return self.sessions[session_id]


asyncio.run(run_agent(Scripted()))
