// A client made with the official TypeScript SDK, with the agent beside this file. It reads commands, one a line, and prints
// the milliseconds that each took:
//
//	turns SESSIONS UPDATES
//	trips REQUESTS INFLIGHT
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import * as acp from "@agentclientprotocol/sdk";

const toAgent = acp.methods.agent;
const child = spawn(process.execPath, [fileURLToPath(new URL("agent.mjs", import.meta.url))], { stdio: ["pipe", "pipe", "inherit"] });
let seen = 0;

const newSession = async (agent) => (await agent.request(toAgent.session.new, { cwd: "/", mcpServers: [] })).sessionId;

const commands = {
	async turns(agent, sessions, updates) {
		const open = [];
		for (let i = 0; i < sessions; i++) open.push(await newSession(agent));
		seen = 0;
		const begin = performance.now();
		await Promise.all(
			open.map((sessionId) => agent.request(toAgent.session.prompt, { sessionId, prompt: [{ type: "text", text: String(updates) }] })),
		);
		const took = performance.now() - begin;
		if (seen !== sessions * updates) throw new Error(`the client has ${seen} of ${sessions * updates} updates when the prompts are answered`);
		return took;
	},

	async trips(agent, requests, inFlight) {
		const sessionId = await newSession(agent);
		let left = requests;
		const one = async () => {
			while (left-- > 0) await agent.request(toAgent.session.setMode, { sessionId, modeId: "code" });
		};
		const begin = performance.now();
		await Promise.all(Array.from({ length: inFlight }, one));
		return performance.now() - begin;
	},
};

await acp
	.client({ name: "bench" })
	.onNotification(acp.methods.client.session.update, ({ params }) => {
		if (params.update.content?.type !== "text") throw new Error("not a chunk of text");
		seen++;
	})
	.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (agent) => {
		await agent.request(toAgent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
		for await (const line of createInterface({ input: process.stdin })) {
			const [name, ...args] = line.split(" ");
			console.log(await commands[name](agent, ...args.map(Number)));
		}
	});
child.kill();
