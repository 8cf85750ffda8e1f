// An ACP agent made with the official TypeScript SDK, for our client to drive. scripted_test.go says what it does.
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { agent: toAgent, client: toClient } = acp.methods;
const sessions = new Map(); // id -> { cwd, said, turn }

const find = (id) => {
	if (!sessions.has(id)) throw acp.RequestError.resourceNotFound(id);
	return sessions.get(id);
};

acp
	.agent({ name: "scripted" })
	.onRequest(toAgent.initialize, () => ({
		protocolVersion: acp.PROTOCOL_VERSION,
		agentInfo: { name: "scripted", version: "1.0.0" },
		agentCapabilities: { loadSession: true, sessionCapabilities: { list: {} } },
	}))
	.onRequest(toAgent.session.new, ({ params }) => {
		const sessionId = randomUUID();
		sessions.set(sessionId, { cwd: params.cwd, said: [], turn: new AbortController() });
		return { sessionId, modes: { currentModeId: "ask", availableModes: ["ask", "code"].map((id) => ({ id, name: id })) } };
	})
	.onRequest(toAgent.session.load, async ({ params, client }) => {
		const { update } = talk(client, params.sessionId);
		for (const [prompt, answer] of find(params.sessionId).said) {
			await update({ sessionUpdate: "user_message_chunk", content: { type: "text", text: prompt } });
			await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: answer } });
		}
		return {};
	})
	.onRequest(toAgent.session.list, ({ params }) => ({
		sessions: [...sessions].filter(([, s]) => !params.cwd || s.cwd === params.cwd).map(([sessionId, { cwd }]) => ({ sessionId, cwd })),
	}))
	.onRequest(toAgent.session.setMode, async ({ params, client }) => {
		find(params.sessionId);
		await talk(client, params.sessionId).update({ sessionUpdate: "current_mode_update", currentModeId: params.modeId });
		return {};
	})
	.onRequest(toAgent.session.prompt, async ({ params, client }) => {
		const session = find(params.sessionId);
		session.turn = new AbortController();
		const text = params.prompt.map((block) => block.text ?? "").join("");
		const [word, rest] = [text.split(" ", 1)[0], text.slice(text.indexOf(" ") + 1)];
		if (word === "wait") {
			await new Promise((done) => session.turn.signal.addEventListener("abort", done));
			return { stopReason: "cancelled" };
		}
		const talking = talk(client, params.sessionId);
		const answer = talking[word] && word !== "update" ? await talking[word](rest) : `You said: ${text}`;
		for (const part of answer.split(" ")) {
			await talking.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `${part} ` } });
		}
		session.said.push([text, answer]);
		return { stopReason: "end_turn" };
	})
	.onNotification(toAgent.session.cancel, ({ params }) => find(params.sessionId).turn.abort())
	.onRequest("_interop/echo", (params) => params, ({ params }) => params)
	.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

// talk is what the agent can do in a session, by the first word of the prompt.
function talk(client, sessionId) {
	const update = (body) => client.notify(toClient.session.update, { sessionId, update: body });
	return {
		update,

		async create(what) {
			const [path, content] = what.split(/: (.*)/s);
			const toolCall = {
				toolCallId: randomUUID(),
				title: `Create ${path}`,
				kind: "edit",
				status: "pending",
				content: [{ type: "diff", path, oldText: null, newText: content }],
			};
			await update({ sessionUpdate: "tool_call", ...toolCall });
			const { outcome } = await client.request(toClient.session.requestPermission, {
				sessionId,
				toolCall,
				options: [
					{ optionId: "yes", name: "Allow", kind: "allow_once" },
					{ optionId: "no", name: "Reject", kind: "reject_once" },
				],
			});
			const allowed = outcome.outcome === "selected" && outcome.optionId === "yes";
			if (allowed) await client.request(toClient.fs.writeTextFile, { sessionId, path, content });
			await update({ sessionUpdate: "tool_call_update", toolCallId: toolCall.toolCallId, status: allowed ? "completed" : "failed" });
			return allowed ? "created" : "refused";
		},

		async read(path) {
			return (await client.request(toClient.fs.readTextFile, { sessionId, path })).content;
		},

		async run(command) {
			const toolCallId = randomUUID();
			await update({ sessionUpdate: "tool_call", toolCallId, title: command, kind: "execute", status: "in_progress" });
			const { terminalId } = await client.request(toClient.terminal.create, { sessionId, command: "/bin/sh", args: ["-c", command] });
			await update({ sessionUpdate: "tool_call_update", toolCallId, content: [{ type: "terminal", terminalId }] });
			const status = await client.request(toClient.terminal.waitForExit, { sessionId, terminalId });
			const { output } = await client.request(toClient.terminal.output, { sessionId, terminalId });
			await client.request(toClient.terminal.release, { sessionId, terminalId });
			await update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
			return `exit ${status.exitCode}: ${output.trim()}`;
		},

		async plan() {
			await update({
				sessionUpdate: "plan",
				entries: [
					{ content: "look", priority: "high", status: "in_progress" },
					{ content: "leap", priority: "medium", status: "pending" },
				],
			});
			return "planned";
		},

		async call(method) {
			try {
				return `answer ${JSON.stringify(await client.request(method, { x: 1 }))}`;
			} catch (error) {
				return `error ${error.code}`;
			}
		},
	};
}
