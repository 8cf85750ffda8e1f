"""The terminals side of the client: child processes, each in a process group of its own."""

import asyncio
import os
import signal

from acp import RequestError
from acp.schema import (
    CreateTerminalResponse,
    KillTerminalResponse,
    ReleaseTerminalResponse,
    TerminalExitStatus,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
)


class Terminal:
    def __init__(self, process, limit):
        self.process, self.limit = process, limit
        self.output, self.truncated = b"", False
        self.reading = asyncio.ensure_future(self.read())

    async def read(self):
        while chunk := await self.process.stdout.read(65536):
            self.output += chunk
            if self.limit is not None and len(self.output) > self.limit:
                self.output, self.truncated = self.output[-self.limit :], True

    def exit(self):
        """How the command ended, as the members of an exit status; None while it runs."""
        code = self.process.returncode
        if code is None:
            return None
        if code < 0:
            return {"exit_code": None, "signal": signal.Signals(-code).name}
        return {"exit_code": code, "signal": None}

    def end(self):
        if self.process.returncode is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Terminals:
    def __init__(self):
        self.open = {}  # id -> Terminal
        self.log = []  # every call, in order

    async def create_terminal(self, session_id, command, args=None, env=None, cwd=None, output_byte_limit=None, **kwargs):
        name = f"terminal-{sum(entry['method'] == 'create' for entry in self.log) + 1}"
        self.log.append({"method": "create", "id": name, "command": command, "args": args, "cwd": cwd or ""})
        # Some agents send a whole shell line as the command, without arguments.
        argv = [command, *args] if args else ["/bin/sh", "-c", command]
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=os.environ | {v.name: v.value for v in env or []},
            start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self.open[name] = Terminal(process, output_byte_limit)
        return CreateTerminalResponse(terminal_id=name)

    async def terminal_output(self, session_id, terminal_id, **kwargs):
        self.log.append({"method": "output", "id": terminal_id})
        t = self.find(terminal_id)
        status = t.exit()
        return TerminalOutputResponse(
            output=t.output.decode(errors="replace"),
            truncated=t.truncated,
            exit_status=TerminalExitStatus(**status) if status else None,
        )

    async def wait_for_terminal_exit(self, session_id, terminal_id, **kwargs):
        self.log.append({"method": "wait_for_exit", "id": terminal_id})
        t = self.find(terminal_id)
        await t.process.wait()
        await t.reading
        return WaitForTerminalExitResponse(**t.exit())

    async def kill_terminal(self, session_id, terminal_id, **kwargs):
        self.log.append({"method": "kill", "id": terminal_id})
        self.find(terminal_id).end()
        return KillTerminalResponse()

    async def release_terminal(self, session_id, terminal_id, **kwargs):
        self.log.append({"method": "release", "id": terminal_id})
        self.find(terminal_id).end()
        del self.open[terminal_id]
        return ReleaseTerminalResponse()

    def close(self):
        """Ends what the agent left open."""
        for t in self.open.values():
            t.end()

    def find(self, name):
        if name not in self.open:
            raise RequestError.resource_not_found(name)
        return self.open[name]
