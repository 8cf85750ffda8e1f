// Drives an agent with acp-factory, a client of an earlier SDK:
//
//	node factory.mjs auto-approve|auto-deny FOLDER AGENT ARGS… < PROMPTS
//
// PROMPTS is a JSON array of texts; a text that begins with "cancel: " is cancelled as soon as a tool call of it runs. It
// prints what came of each: { stopReason, updates }, and then what a load of the session replayed.
import { readFileSync } from "node:fs";
import { AgentFactory } from "acp-factory";

const [permissionMode, folder, command, ...args] = process.argv.slice(2);
AgentFactory.register("subject", { command, args });
const agent = await AgentFactory.spawn("subject", { permissionMode, env: process.env });
const session = await agent.createSession(folder);
const turns = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
	const cancel = text.startsWith("cancel: ");
	const updates = [];
	for await (const update of session.prompt(cancel ? text.slice("cancel: ".length) : text)) {
		updates.push(update);
		if (cancel && update.status === "in_progress") await session.cancel();
	}
	turns.push({ updates });
}
const loaded = await agent.loadSession(session.id, folder);
console.log(JSON.stringify({ turns, same: loaded.id === session.id, modes: session.modes }));
await agent.close();
