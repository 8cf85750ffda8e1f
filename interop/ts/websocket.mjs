// The server's end of a WebSocket (RFC 6455), as much of it as the tests need: node brings only the client's. It has the
// interface of the package ws that the SDK uses.
import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";

const TEXT = 1, CLOSE = 8, PING = 9, PONG = 10;

export function acceptWebSocket(req, socket, headers) {
	const accept = createHash("sha1").update(`${req.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
	const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Accept: ${accept}`];
	for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
	socket.write(`${lines.join("\r\n")}\r\n\r\n`);
	return new Socket(socket);
}

class Socket extends EventEmitter {
	#socket;
	#input = Buffer.alloc(0);
	#parts = [];
	#kind = 0;
	#closing = false;
	readyState = 1;

	constructor(socket) {
		super();
		this.#socket = socket;
		socket.on("data", (chunk) => this.#read(chunk));
		socket.on("close", () => this.emit("close"));
		socket.on("error", (error) => this.emit("error", error));
	}

	get bufferedAmount() {
		return this.#socket.writableLength;
	}

	send(text) {
		this.#write(TEXT, Buffer.from(text));
	}

	close(code, reason = "") {
		if (this.#closing) return;
		this.#closing = true;
		const payload = Buffer.alloc(code === undefined ? 0 : 2 + Buffer.byteLength(reason));
		if (code !== undefined) {
			payload.writeUInt16BE(code);
			payload.write(reason, 2);
		}
		this.#write(CLOSE, payload);
	}

	#write(opcode, payload) {
		const n = payload.length;
		const head = Buffer.alloc(n < 126 ? 2 : n < 65536 ? 4 : 10);
		head[0] = 0x80 | opcode;
		head[1] = n < 126 ? n : n < 65536 ? 126 : 127;
		if (head.length === 4) head.writeUInt16BE(n, 2);
		if (head.length === 10) head.writeBigUInt64BE(BigInt(n), 2);
		this.#socket.write(Buffer.concat([head, payload]));
	}

	#read(chunk) {
		this.#input = Buffer.concat([this.#input, chunk]);
		for (;;) {
			const b = this.#input;
			if (b.length < 2) return;
			let n = b[1] & 0x7f;
			let at = 2;
			if (n === 126) [n, at] = b.length < 4 ? [Infinity, 4] : [b.readUInt16BE(2), 4];
			else if (n === 127) [n, at] = b.length < 10 ? [Infinity, 10] : [Number(b.readBigUInt64BE(2)), 10];
			if (!(b[1] & 0x80)) throw new Error("a client's frame is not masked");
			if (b.length < at + 4 + n) return;
			const mask = b.subarray(at, at + 4);
			const payload = Buffer.from(b.subarray(at + 4, at + 4 + n));
			for (let i = 0; i < n; i++) payload[i] ^= mask[i % 4];
			this.#input = b.subarray(at + 4 + n);
			this.#frame(b[0], payload);
		}
	}

	#frame(first, payload) {
		const opcode = first & 0x0f;
		if (opcode === CLOSE) {
			this.close(payload.length ? payload.readUInt16BE() : undefined);
			this.#socket.end();
		} else if (opcode === PING) {
			this.#write(PONG, payload);
		} else if (opcode !== PONG) {
			if (opcode) this.#kind = opcode;
			this.#parts.push(payload);
			if (!(first & 0x80)) return;
			const message = Buffer.concat(this.#parts.splice(0));
			this.emit("message", message, this.#kind !== TEXT);
		}
	}
}
