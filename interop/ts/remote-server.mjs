// A server made with the official TypeScript SDK: streamable HTTP and WebSocket on a port of its own choice, whose URL it
// prints. remote_test.go says what its agent does. It ends with its input.
import { createServer } from "node:http";
import * as acp from "@agentclientprotocol/sdk";
import { createNodeHttpHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { acceptWebSocket } from "./websocket.mjs";

const { agent: toAgent, client: toClient } = acp.methods;
let sessions = 0;
const turns = new Map(); // session -> what ends its waiting turn

const say = (client, sessionId, text) =>
	client.notify(toClient.session.update, { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } });
const sayMany = async (client, sessionId, n) => {
	for (let i = 0; i < n; i++) await say(client, sessionId, ` ${i}`);
};

const createAgent = () =>
	acp
		.agent({ name: "network" })
		.onRequest(toAgent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: { loadSession: true } }))
		.onRequest(toAgent.session.new, () => ({ sessionId: `s${++sessions}` }))
		.onRequest(toAgent.session.load, async ({ params, client }) => {
			if (params.sessionId === "unknown") throw acp.RequestError.invalidParams();
			await sayMany(client, params.sessionId, 100);
			return {};
		})
		.onRequest(toAgent.session.prompt, async ({ params, client }) => {
			const { sessionId } = params;
			const [word, n] = params.prompt[0].text.split(" ");
			if (word === "say") await sayMany(client, sessionId, Number(n));
			if (word === "ask") {
				const { outcome } = await client.request(toClient.session.requestPermission, {
					sessionId,
					toolCall: { toolCallId: "call" },
					options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
				});
				await say(client, sessionId, outcome.optionId);
			}
			if (word === "wait") {
				const cancelled = new Promise((done) => turns.set(sessionId, done));
				await say(client, sessionId, "waiting");
				await cancelled;
				return { stopReason: "cancelled" };
			}
			return { stopReason: "end_turn" };
		})
		.onNotification(toAgent.session.cancel, ({ params }) => turns.get(params.sessionId)?.());

const server = new AcpServer({ createAgent });
const http = createServer(createNodeHttpHandler(server));
http.on("upgrade", (req, socket) => {
	const upgrade = server.prepareWebSocketUpgrade();
	upgrade.accept(acceptWebSocket(req, socket, { "Acp-Connection-Id": upgrade.connectionId }));
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/acp`));
process.stdin.resume().on("end", () => process.exit(0));
