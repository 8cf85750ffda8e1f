// The files side of the client: open buffers, some with text that is not saved, over the disk.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { RequestError } from "@agentclientprotocol/sdk";

export class Files {
	constructor(buffers) {
		this.buffers = new Map(Object.entries(buffers)); // path -> text
		this.log = []; // every call, in order
	}

	read({ path, line, limit }) {
		this.log.push({ method: "read", path });
		const text = this.buffers.get(path) ?? this.disk(path);
		if (text === null) throw RequestError.resourceNotFound(path);
		if (line == null && limit == null) return { content: text };
		const from = (line ?? 1) - 1;
		return { content: text.split(/(?<=\n)/).slice(from, limit == null ? undefined : from + limit).join("") };
	}

	write({ path, content }) {
		this.log.push({ method: "write", path, content });
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, content);
		if (this.buffers.has(path)) this.buffers.set(path, content);
		return {};
	}

	// disk gives the text on disk, or null where there is no file.
	disk(path) {
		try {
			return readFileSync(path, "utf8");
		} catch (error) {
			if (error.code === "ENOENT") return null;
			throw error;
		}
	}
}
