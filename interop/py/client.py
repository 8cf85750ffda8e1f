"""An ACP client made with the official Python SDK. It plays a scenario and prints what it saw:

    python client.py SCENARIO.json

The scenario is one JSON object; scenario_test.go has its types, and the types of what is printed.
"""

import asyncio
import json
import os
import sys
import time
from collections import defaultdict

from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, text_block
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    RequestPermissionResponse,
)

from files import Files
from terminals import Terminals


def plain(model):
    """A model as the JSON that it is on the wire."""
    return model if model is None or isinstance(model, dict) else model.model_dump(mode="json", by_alias=True, exclude_unset=True)


class State:
    """What was seen of one session."""

    def __init__(self):
        self.updates, self.permissions, self.answers, self.watchers = [], [], [], []


class Person:
    """The client's part that every agent needs: permissions and updates."""

    def __init__(self, scenario):
        self.sessions = defaultdict(State)
        self.files, self.terminals = Files(scenario.get("buffers") or {}), Terminals()

    async def session_update(self, session_id, update, **kwargs):
        state = self.sessions[session_id]
        state.updates.append(plain(update))
        for watcher in list(state.watchers):
            await watcher(state.updates[-1])

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        """The next of the prompt's answers: a kind of option, or "cancelled" for a dialog that is closed."""
        state = self.sessions[session_id]
        wanted = state.answers.pop(0) if state.answers else "cancelled"
        request = {"sessionId": session_id, "toolCall": plain(tool_call), "options": [plain(o) for o in options]}
        disk = {part["path"]: self.files.disk(part["path"]) for part in request["toolCall"].get("content") or [] if part["type"] == "diff"}
        state.permissions.append({"request": request, "answer": wanted, "disk": disk})
        if wanted == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        for option in options:
            if option.kind == wanted:
                return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))
        raise RequestError(-32000, f"no option of kind {wanted} was offered")


def client(scenario):
    """A client that has what the scenario offers, and no other methods."""
    person = Person(scenario)
    if scenario.get("files"):
        person.read_text_file, person.write_text_file = person.files.read_text_file, person.files.write_text_file
    if scenario.get("terminals"):
        for name in ("create_terminal", "terminal_output", "wait_for_terminal_exit", "kill_terminal", "release_terminal"):
            setattr(person, name, getattr(person.terminals, name))
    return person


class Player:
    def __init__(self, scenario, person, agent):
        self.scenario, self.person, self.agent = scenario, person, agent
        self.names = dict(scenario.get("sessions") or {})  # the scenario's name -> session id

    async def attempt(self, step):
        try:
            return await getattr(self, step["do"])(step)
        except RequestError as error:
            return {"error": {"code": error.code, "message": str(error), "data": error.data}}

    async def initialize(self, step):
        files = bool(self.scenario.get("files"))
        return {
            "response": plain(
                await self.agent.initialize(
                    protocol_version=PROTOCOL_VERSION,
                    client_capabilities=ClientCapabilities(
                        fs=FileSystemCapabilities(read_text_file=files, write_text_file=files),
                        terminal=bool(self.scenario.get("terminals")),
                    ),
                    client_info=Implementation(name="interop", version="1.0.0"),
                )
            )
        }

    async def new(self, step):
        response = await self.agent.new_session(cwd=step["cwd"], mcp_servers=[])
        self.names[step["session"]] = response.session_id
        return {"response": plain(response)}

    async def prompt(self, step):
        session_id = self.names[step["session"]]
        state = self.person.sessions[session_id]
        updates, permissions = len(state.updates), len(state.permissions)
        state.answers = list(step.get("answers") or [])
        cancelled = []
        if at := step.get("cancelAt"):

            async def watch(update):
                if update["sessionUpdate"].startswith("tool_call") and update.get("status") == at:
                    state.watchers.remove(watch)
                    cancelled.append(time.monotonic())
                    await self.agent.cancel(session_id=session_id)

            state.watchers.append(watch)
        response = await self.agent.prompt(session_id=session_id, prompt=[text_block(step["text"])])
        result = {
            "response": plain(response),
            "updates": state.updates[updates:],
            "permissions": state.permissions[permissions:],
        }
        if cancelled:
            result["cancelMs"] = round((time.monotonic() - cancelled[0]) * 1000)
        return result

    async def load(self, step):
        session_id = self.names[step["session"]]
        before = len(self.person.sessions[session_id].updates)
        response = await self.agent.load_session(session_id=session_id, cwd=step["cwd"], mcp_servers=[])
        return {"response": plain(response), "updates": self.person.sessions[session_id].updates[before:]}

    async def request(self, step):
        """Any other method of a session, or of none, as far as the SDK has it."""
        params = dict(step.get("params") or {})
        session = {"session_id": self.names[step["session"]]} if step.get("session") else {}
        match step["method"]:
            case "session/list":
                response = await self.agent.list_sessions(cwd=params.get("cwd"))
            case "session/set_mode":
                response = await self.agent.set_session_mode(mode_id=params["modeId"], **session)
            case method if method.startswith("_"):
                response = await self.agent.ext_method(method[1:], params)
            case method:
                raise ValueError(f"the SDK has no {method}")
        return {"response": plain(response)}


async def main():
    with open(sys.argv[1]) as file:
        scenario = json.load(file)
    command, *args = scenario["agent"]
    process = await asyncio.create_subprocess_exec(
        command, *args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=os.environ, limit=64 << 20
    )
    person = client(scenario)
    agent = connect_to_agent(person, process.stdin, process.stdout)
    player = Player(scenario, person, agent)
    steps = [await player.attempt(step) for step in scenario["steps"]]
    process.stdin.close()
    status = await process.wait()
    await agent.close()
    person.terminals.close()
    print(
        json.dumps(
            {
                "steps": steps,
                "exit": {"status": status if status >= 0 else None, "signal": None if status >= 0 else str(-status)},
                "files": person.files.log,
                "terminals": person.terminals.log,
                "sessions": player.names,
            }
        )
    )


asyncio.run(main())
