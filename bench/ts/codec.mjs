// What the official TypeScript SDK does alone, in one process. It reads commands, one a line, and prints a number each:
//
//	decode SCHEMA TEXT   the nanoseconds to make a checked object of the bytes of TEXT
//	encode SCHEMA TEXT   the nanoseconds to make bytes of that object
//	idle CONNECTIONS     the bytes that a connection at rest takes, both ends in memory; needs --expose-gc
import { createInterface } from "node:readline";
import * as acp from "@agentclientprotocol/sdk";

const schemas = await import(new URL("../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js", import.meta.url));
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const measureFor = 60; // ms

function measure(once) {
	let n = 0;
	let took = 0;
	const begin = performance.now();
	do {
		for (let i = 0; i < 100; i++) once();
		n += 100;
		took = performance.now() - begin;
	} while (took < measureFor);
	return (took / n) * 1e6;
}

function memoryInUse() {
	globalThis.gc();
	globalThis.gc();
	const m = process.memoryUsage();
	return m.heapUsed + m.external;
}

// open connects an agent and a client through memory, and leaves them alone.
async function open(kept) {
	const [there, back] = [new TransformStream(), new TransformStream()];
	kept.push(
		acp
			.agent({ name: "bench" })
			.onRequest(acp.methods.agent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
			.connect(acp.ndJsonStream(back.writable, there.readable)),
	);
	await new Promise((opened, failed) => {
		const rest = new Promise(() => {});
		const client = acp.client({ name: "bench" }).connectWith(acp.ndJsonStream(there.writable, back.readable), async (agent) => {
			await agent.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
			opened();
			await rest;
		});
		client.catch(failed);
		kept.push(client);
	});
}

const commands = {
	decode(schema, text) {
		const bytes = encoder.encode(text);
		return measure(() => schemas[schema].parse(JSON.parse(decoder.decode(bytes))));
	},
	encode(schema, text) {
		const value = schemas[schema].parse(JSON.parse(text));
		return measure(() => encoder.encode(JSON.stringify(value)));
	},
	async idle(connections) {
		const kept = [];
		await open(kept); // what the first one loads is not the connection's
		const before = memoryInUse();
		for (let i = 0; i < Number(connections); i++) await open(kept);
		return (memoryInUse() - before) / Number(connections);
	},
};

for await (const line of createInterface({ input: process.stdin })) {
	const [name, first, ...rest] = line.split(" ");
	console.log(await commands[name](first, rest.join(" ")));
}
process.exit(0);
