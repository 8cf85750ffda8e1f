// The terminals side of the client: child processes, each in a process group of its own.
import { spawn } from "node:child_process";
import { RequestError } from "@agentclientprotocol/sdk";

export class Terminals {
	constructor() {
		this.open = new Map(); // id -> terminal
		this.log = []; // every call, in order
	}

	create({ command, args, cwd, env, outputByteLimit }) {
		const id = `terminal-${this.log.filter((entry) => entry.method === "create").length + 1}`;
		this.log.push({ method: "create", id, command, args, cwd });
		// Some agents send a whole shell line as the command, without arguments.
		const [program, argv] = args?.length ? [command, args] : ["/bin/sh", ["-c", command]];
		const extra = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
		const child = spawn(program, argv, {
			cwd: cwd ?? undefined,
			env: { ...process.env, ...extra },
			detached: true,
			stdio: ["ignore", "pipe", "pipe"],
		});
		const terminal = { child, output: Buffer.alloc(0), truncated: false, exit: null };
		const take = (chunk) => {
			terminal.output = Buffer.concat([terminal.output, chunk]);
			if (outputByteLimit != null && terminal.output.length > outputByteLimit) {
				terminal.output = terminal.output.subarray(terminal.output.length - outputByteLimit);
				terminal.truncated = true;
			}
		};
		child.stdout.on("data", take);
		child.stderr.on("data", take);
		terminal.exited = new Promise((done) => {
			child.once("error", () => done((terminal.exit = { exitCode: 127, signal: null })));
			child.once("close", (exitCode, signal) => done((terminal.exit = { exitCode, signal })));
		});
		this.open.set(id, terminal);
		return { terminalId: id };
	}

	output({ terminalId }) {
		this.log.push({ method: "output", id: terminalId });
		const { output, truncated, exit } = this.find(terminalId);
		return { output: output.toString(), truncated, exitStatus: exit };
	}

	async wait({ terminalId }) {
		this.log.push({ method: "wait_for_exit", id: terminalId });
		return await this.find(terminalId).exited;
	}

	kill({ terminalId }) {
		this.log.push({ method: "kill", id: terminalId });
		this.end(this.find(terminalId));
		return {};
	}

	release({ terminalId }) {
		this.log.push({ method: "release", id: terminalId });
		this.end(this.find(terminalId));
		this.open.delete(terminalId);
		return {};
	}

	// close ends what the agent left open.
	close() {
		for (const terminal of this.open.values()) this.end(terminal);
	}

	find(id) {
		const terminal = this.open.get(id);
		if (!terminal) throw RequestError.resourceNotFound(id);
		return terminal;
	}

	end({ child, exit }) {
		if (exit || child.pid === undefined) return;
		try {
			process.kill(-child.pid, "SIGKILL");
		} catch (error) {
			if (error.code !== "ESRCH") throw error;
		}
	}
}
