// An agent made with the official TypeScript SDK. It answers a prompt, which is a number, with so many updates.
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { agent: toAgent, client: toClient } = acp.methods;
let sessions = 0;

acp
	.agent({ name: "bench" })
	.onRequest(toAgent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
	.onRequest(toAgent.session.new, () => ({ sessionId: `sess_${String(++sessions).padStart(20, "0")}` }))
	.onRequest(toAgent.session.setMode, () => ({}))
	.onRequest(toAgent.session.prompt, async ({ params, client }) => {
		const updates = Number(params.prompt[0].text);
		for (let i = 0; i < updates; i++) {
			await client.notify(toClient.session.update, {
				sessionId: params.sessionId,
				update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "a few words of an answer, " } },
			});
		}
		return { stopReason: "end_turn" };
	})
	.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
