// A client made with the official TypeScript SDK, over the network: remote-client.mjs http|websocket URL. remote_test.go
// says what it plays. It prints what came as JSON.
import * as acp from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

const [kind, url] = process.argv.slice(2);
const { agent: toAgent, client: toClient } = acp.methods;
const said = new Map(); // session -> text
const watchers = new Map(); // session -> called once, at the next update

const app = acp
	.client({ name: "interop" })
	.onNotification(toClient.session.update, ({ params }) => {
		said.set(params.sessionId, (said.get(params.sessionId) ?? "") + params.update.content.text);
		watchers.get(params.sessionId)?.();
		watchers.delete(params.sessionId);
	})
	.onRequest(toClient.session.requestPermission, ({ params }) => ({
		outcome: { outcome: "selected", optionId: params.options[0].optionId },
	}));

const stream = kind === "http" ? createHttpStream(url) : createWebSocketStream(url);
const result = await app.connectWith(stream, async (agent) => {
	await agent.request(toAgent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
	const { sessionId } = await agent.request(toAgent.session.new, { cwd: "/", mcpServers: [] });
	const prompt = async (text) => {
		said.delete(sessionId);
		const { stopReason } = await agent.request(toAgent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
		return { stopReason, said: said.get(sessionId) ?? "" };
	};
	const steps = { many: await prompt("say 100"), ask: await prompt("ask") };
	watchers.set(sessionId, () => agent.notify(toAgent.session.cancel, { sessionId }));
	steps.wait = await prompt("wait");
	await agent.request(toAgent.session.load, { sessionId: "old", cwd: "/", mcpServers: [] });
	// Over HTTP this SDK may hand out the answer of a load before the last updates.
	for (let i = 0; i < 200 && !said.get("old")?.endsWith(" 99"); i++) await new Promise((done) => setTimeout(done, 10));
	steps.load = { said: said.get("old") ?? "" };
	steps.unknown = await agent
		.request(toAgent.session.load, { sessionId: "unknown", cwd: "/", mcpServers: [] })
		.then(() => ({}), (error) => ({ error: error.code }));
	return steps;
});
console.log(JSON.stringify(result));
process.exit(0);
