// A small ACP agent made with the official TypeScript SDK, for our client to drive. It answers what it was told, and
// "create PATH: TEXT" with a tool call, a permission request and, if that is granted, a write through the client.
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const turns = new Map(); // session id -> AbortController of the running turn

acp
	.agent({ name: "tiny" })
	.onRequest(acp.methods.agent.initialize, () => ({
		protocolVersion: acp.PROTOCOL_VERSION,
		agentInfo: { name: "tiny", version: "1.0.0" },
		agentCapabilities: {},
	}))
	.onRequest(acp.methods.agent.session.new, () => ({ sessionId: randomUUID() }))
	.onRequest(acp.methods.agent.session.prompt, async ({ params, client }) => {
		const turn = new AbortController();
		turns.set(params.sessionId, turn);
		const update = (body) => client.notify(acp.methods.client.session.update, { sessionId: params.sessionId, update: body });
		const text = params.prompt.map((block) => block.text ?? "").join("");
		const create = /^create (\S+): (.*)$/s.exec(text);
		if (text === "wait") {
			await new Promise((done) => turn.signal.addEventListener("abort", done));
			return { stopReason: "cancelled" };
		}
		if (create) await write(client, params.sessionId, update, create[1], create[2]);
		for (const word of `You said: ${text}`.split(/(?<= )/)) {
			await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: word } });
		}
		return { stopReason: "end_turn" };
	})
	.onNotification(acp.methods.agent.session.cancel, ({ params }) => turns.get(params.sessionId)?.abort())
	.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

async function write(client, sessionId, update, path, content) {
	const toolCall = {
		toolCallId: randomUUID(),
		title: `Create ${path}`,
		kind: "edit",
		status: "pending",
		content: [{ type: "diff", path, oldText: null, newText: content }],
	};
	await update({ sessionUpdate: "tool_call", ...toolCall });
	const { outcome } = await client.request(acp.methods.client.session.requestPermission, {
		sessionId,
		toolCall,
		options: [
			{ optionId: "yes", name: "Allow", kind: "allow_once" },
			{ optionId: "no", name: "Reject", kind: "reject_once" },
		],
	});
	const allowed = outcome.outcome === "selected" && outcome.optionId === "yes";
	if (allowed) await client.request(acp.methods.client.fs.writeTextFile, { sessionId, path, content });
	await update({ sessionUpdate: "tool_call_update", toolCallId: toolCall.toolCallId, status: allowed ? "completed" : "failed" });
}
