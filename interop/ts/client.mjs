// An ACP client made with the official TypeScript SDK. It plays a scenario and prints what it saw:
//
//	node client.mjs SCENARIO.json
//
// The scenario is one JSON object; scenario_test.go has its types, and the types of what is printed.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { Files } from "./files.mjs";
import { Terminals } from "./terminals.mjs";

const scenario = JSON.parse(readFileSync(process.argv[2], "utf8"));
const [command, ...args] = scenario.agent;
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((done) => child.once("exit", (status, signal) => done({ status, signal })));

const files = new Files(scenario.buffers ?? {});
const terminals = new Terminals();
const sessions = new Map(Object.entries(scenario.sessions ?? {})); // the scenario's name -> session id
const seen = new Map(); // session id -> { updates, permissions, watchers }
const state = (id) => {
	if (!seen.has(id)) seen.set(id, { updates: [], permissions: [], answers: [], watchers: [] });
	return seen.get(id);
};

const app = acp
	.client({ name: "interop" })
	.onNotification(acp.methods.client.session.update, ({ params }) => {
		const s = state(params.sessionId);
		s.updates.push(params.update);
		for (const watcher of [...s.watchers]) watcher(params.update);
	})
	.onRequest(acp.methods.client.session.requestPermission, ({ params }) => answer(params));
if (scenario.files) {
	app
		.onRequest(acp.methods.client.fs.readTextFile, ({ params }) => files.read(params))
		.onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => files.write(params));
}
if (scenario.terminals) {
	app
		.onRequest(acp.methods.client.terminal.create, ({ params }) => terminals.create(params))
		.onRequest(acp.methods.client.terminal.output, ({ params }) => terminals.output(params))
		.onRequest(acp.methods.client.terminal.waitForExit, ({ params }) => terminals.wait(params))
		.onRequest(acp.methods.client.terminal.kill, ({ params }) => terminals.kill(params))
		.onRequest(acp.methods.client.terminal.release, ({ params }) => terminals.release(params));
}

// answer gives the next of the prompt's answers: a kind of option, or "cancelled" for a dialog that is closed. It notes
// what the disk held meanwhile at the places that the tool call is about.
function answer(params) {
	const s = state(params.sessionId);
	const wanted = s.answers.shift() ?? "cancelled";
	const disk = {};
	for (const part of params.toolCall.content ?? []) {
		if (part.type === "diff") disk[part.path] = files.disk(part.path);
	}
	s.permissions.push({ request: params, answer: wanted, disk });
	const option = params.options.find((o) => o.kind === wanted);
	if (wanted !== "cancelled" && !option) throw new acp.RequestError(-32000, `no option of kind ${wanted} was offered`);
	return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
}

async function play(agent, step) {
	switch (step.do) {
		case "initialize":
			return {
				response: await agent.request(acp.methods.agent.initialize, {
					protocolVersion: acp.PROTOCOL_VERSION,
					clientCapabilities: {
						fs: { readTextFile: !!scenario.files, writeTextFile: !!scenario.files },
						terminal: !!scenario.terminals,
					},
					clientInfo: { name: "interop", version: "1.0.0" },
				}),
			};
		case "new": {
			const response = await agent.request(acp.methods.agent.session.new, { cwd: step.cwd, mcpServers: [] });
			sessions.set(step.session, response.sessionId);
			return { response };
		}
		case "prompt": {
			const sessionId = sessions.get(step.session);
			const s = state(sessionId);
			const [updates, permissions] = [s.updates.length, s.permissions.length];
			s.answers = [...(step.answers ?? [])];
			const cancelled = step.cancelAt && cancelAt(agent, sessionId, step.cancelAt);
			const response = await agent.request(acp.methods.agent.session.prompt, {
				sessionId,
				prompt: [{ type: "text", text: step.text }],
			});
			const result = { response, updates: s.updates.slice(updates), permissions: s.permissions.slice(permissions) };
			if (cancelled) result.cancelMs = Date.now() - (await cancelled);
			return result;
		}
		case "converse": { // with the SDK's own session helper instead of plain requests
			return await agent.buildSession(step.cwd).withSession(async (session) => {
				const prompt = session.prompt(step.text);
				const updates = [];
				for (;;) {
					const message = await session.nextUpdate();
					if (message.kind === "stop") break;
					updates.push(message.update);
				}
				return { response: await prompt, updates };
			});
		}
		case "load": {
			const sessionId = sessions.get(step.session);
			const before = state(sessionId).updates.length;
			const response = await agent.request(acp.methods.agent.session.load, { sessionId, cwd: step.cwd, mcpServers: [] });
			return { response, updates: state(sessionId).updates.slice(before) };
		}
		case "request": { // any other method of a session, or of none
			const params = { ...step.params };
			if (step.session) params.sessionId = sessions.get(step.session);
			return { response: await agent.request(step.method, params) };
		}
		case "together":
			return { steps: await Promise.all(step.steps.map((inner) => attempt(agent, inner))) };
		default:
			throw new Error(`the scenario has a step ${step.do}, which this client does not know`);
	}
}

// cancelAt sends session/cancel when a tool call reaches the status, and gives the time at which it did.
function cancelAt(agent, sessionId, status) {
	return new Promise((done) => {
		const s = state(sessionId);
		const watcher = (update) => {
			if (!update.sessionUpdate.startsWith("tool_call") || update.status !== status) return;
			s.watchers.splice(s.watchers.indexOf(watcher), 1);
			const now = Date.now();
			agent.notify(acp.methods.agent.session.cancel, { sessionId }).then(() => done(now));
		};
		s.watchers.push(watcher);
	});
}

async function attempt(agent, step) {
	try {
		return await play(agent, step);
	} catch (error) {
		return { error: { code: error.code ?? 0, message: error.message ?? String(error), data: error.data } };
	}
}

const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const steps = await app.connectWith(stream, async (agent) => {
	const results = [];
	for (const step of scenario.steps) results.push(await attempt(agent, step));
	return results;
});
child.stdin.end();
const exit = await exited;
terminals.close();
console.log(JSON.stringify({ steps, exit, files: files.log, terminals: terminals.log, sessions: Object.fromEntries(sessions) }));
