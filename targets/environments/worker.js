// JSON.parse behind the protocol of docs/internals/workers.md, for a comparison with another library.
//
// JavaScript has one number type, so a whole number is told as an integer and the
// other side is asked to tell its numbers the same way ("numbers": "binary64").
"use strict";

const fs = require("node:fs");
const { createHash } = require("node:crypto");

const PROTOCOL = 1;
const NAMED = 2;
const HEAD = 12; // a request: operation u8, flags u8, reader or writer u16, flush u32, count u32

class NotUtf8Error extends Error {}

// --- bytes in and out ---

function readExactly(size) {
  const buffer = Buffer.allocUnsafe(size);
  let done = 0;
  while (done < size) {
    const got = fs.readSync(0, buffer, done, size - done, null);
    if (got === 0) process.exit(0);
    done += got;
  }
  return buffer;
}

function writeFrame(...parts) {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(parts.reduce((sum, part) => sum + part.length, 0));
  let rest = Buffer.concat([size, ...parts]);
  while (rest.length) rest = rest.subarray(fs.writeSync(1, rest));
}

function tagged(tag, write, size) {
  const buffer = Buffer.allocUnsafe(1 + size);
  buffer.write(tag, 0, "latin1");
  write(buffer);
  return buffer;
}

const int32 = (tag, value) => tagged(tag, (buffer) => buffer.writeInt32LE(value, 1), 4);

function sized(content) {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(content.length);
  return Buffer.concat([size, content]);
}

// --- text: generalized UTF-8, in which a lone surrogate is three bytes like any other ---

const fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(raw) {
  try {
    return fatal.decode(raw);
  } catch {
    return decodeSurrogates(raw);
  }
}

function decodeSurrogates(raw) {
  const parts = [];
  let start = 0;
  for (let at = 0; at + 2 < raw.length; at++) {
    // A lead byte inside another character cannot be 0xED, so this finds surrogates only.
    if (raw[at] !== 0xed || raw[at + 1] < 0xa0 || (raw[at + 2] & 0xc0) !== 0x80) continue;
    parts.push(strict(raw.subarray(start, at)));
    parts.push(String.fromCharCode(0xd000 | ((raw[at + 1] & 0x3f) << 6) | (raw[at + 2] & 0x3f)));
    start = at + 3;
    at += 2;
  }
  parts.push(strict(raw.subarray(start)));
  return parts.join("");
}

function strict(raw) {
  try {
    return fatal.decode(raw);
  } catch {
    throw new NotUtf8Error("not UTF-8");
  }
}

function encodeText(text) {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  const parts = [];
  for (const character of text) {
    const unit = character.charCodeAt(0);
    const lone = character.length === 1 && unit >= 0xd800 && unit <= 0xdfff;
    parts.push(
      lone
        ? Buffer.from([0xed, 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)])
        : Buffer.from(character, "utf8"),
    );
  }
  return Buffer.concat(parts);
}

// --- typed values ---

function encode(root) {
  const out = [];
  const end = Symbol("end");
  const pending = [root];
  while (pending.length) {
    const value = pending.pop();
    if (value === end) out.push(Buffer.from("0"));
    else if (Array.isArray(value)) {
      out.push(int32("[", value.length));
      for (let at = value.length - 1; at >= 0; at--) pending.push(value[at]);
    } else if (value !== null && typeof value === "object") {
      out.push(Buffer.from("{"));
      pending.push(end);
      const names = Object.keys(value);
      for (let at = names.length - 1; at >= 0; at--) pending.push(value[names[at]], names[at]);
    } else out.push(encodeScalar(value));
  }
  return Buffer.concat(out);
}

function encodeScalar(value) {
  if (value === null) return Buffer.from("N");
  if (value === true) return Buffer.from("T");
  if (value === false) return Buffer.from("F");
  if (typeof value === "number") return encodeNumber(value);
  const text = encodeText(value);
  return Buffer.concat([int32("u", text.length), text]);
}

function encodeNumber(value) {
  if (!Number.isInteger(value) || Object.is(value, -0)) {
    return tagged("g", (buffer) => buffer.writeDoubleLE(value, 1), 8);
  }
  if (value >= -0x80000000 && value <= 0x7fffffff) return int32("i", value);
  const digits = [];
  for (let rest = BigInt(Math.abs(value)); rest > 0n; rest >>= 15n) digits.push(Number(rest & 0x7fffn));
  const write = (buffer) => {
    buffer.writeInt32LE(value < 0 ? -digits.length : digits.length, 1);
    digits.forEach((digit, at) => buffer.writeUInt16LE(digit, 5 + 2 * at));
  };
  return tagged("l", write, 4 + 2 * digits.length);
}

class ValueReader {
  constructor(raw) {
    this.raw = raw;
    this.at = 0;
  }

  int32() {
    this.at += 4;
    return this.raw.readInt32LE(this.at - 4);
  }

  read() {
    switch (String.fromCharCode(this.raw[this.at++])) {
      case "N":
        return null;
      case "T":
        return true;
      case "F":
        return false;
      case "i":
        return this.int32();
      case "l":
        return this.long();
      case "g":
        this.at += 8;
        return this.raw.readDoubleLE(this.at - 8);
      case "u": {
        const size = this.int32();
        this.at += size;
        return decodeText(this.raw.subarray(this.at - size, this.at));
      }
      case "[":
        return Array.from({ length: this.int32() }, () => this.read());
      case "{":
        return this.object();
      default:
        throw new TypeError("no canonical value");
    }
  }

  long() {
    const count = this.int32();
    let value = 0n;
    for (let at = Math.abs(count) - 1; at >= 0; at--) {
      value = (value << 15n) | BigInt(this.raw.readUInt16LE(this.at + 2 * at));
    }
    this.at += 2 * Math.abs(count);
    return Number(count < 0 ? -value : value);
  }

  object() {
    const found = {};
    while (this.raw[this.at] !== 0x30) {
      const name = this.read();
      // Assigning to __proto__ would set the prototype.
      Object.defineProperty(found, name, {
        value: this.read(),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    this.at++;
    return found;
  }
}

// --- outcomes ---

function nameOf(error) {
  if (error instanceof NotUtf8Error) return "worker.NotUtf8Error";
  return error instanceof Error ? error.constructor.name : typeof error;
}

function kindOf(error) {
  return error instanceof SyntaxError || error instanceof NotUtf8Error ? "-" : "!";
}

function bases(error) {
  const names = [];
  let proto = Object.getPrototypeOf(Object(error));
  while ((proto = Object.getPrototypeOf(proto)) && proto !== Object.prototype) {
    names.push(proto.constructor.name);
  }
  return names.join("\n");
}

const hash = (content) => createHash("sha256").update(content).digest().subarray(0, 7);

const record = (kind, ...fields) => Buffer.concat([Buffer.from(kind), ...fields.map(sized)]);

function refusal(error, kind) {
  const texts = ["", nameOf(error), String(error?.message ?? error), bases(error)];
  return record(kind, ...texts.map((text) => Buffer.from(text, "utf8")));
}

const nothing = Buffer.alloc(0);

const makers = {
  d: (named) => (raw) => {
    try {
      return Buffer.concat([Buffer.from("+"), hash(encode(JSON.parse(decodeText(raw))))]);
    } catch (error) {
      return Buffer.concat([Buffer.from(kindOf(error)), hash(named ? nameOf(error) : "")]);
    }
  },
  o: () => (raw) => {
    try {
      return record("+", encode(JSON.parse(decodeText(raw))), nothing, nothing, nothing);
    } catch (error) {
      return refusal(error, kindOf(error));
    }
  },
  s: () => (raw) => {
    try {
      const text = JSON.stringify(new ValueReader(raw).read());
      return record("+", encodeText(text), nothing, nothing, nothing);
    } catch (error) {
      return refusal(error, error instanceof TypeError ? "-" : "!");
    }
  },
};

// --- the process ---

function peak() {
  return process.resourceUsage().maxRSS * 1024;
}

function answer(items, one, flush) {
  const began = process.cpuUsage();
  for (let start = 0; start < items.length; start += flush) {
    const results = items.slice(start, start + flush).map(one);
    const used = process.cpuUsage(began);
    const head = Buffer.alloc(20);
    head.writeUInt32LE(results.length, 0);
    head.writeDoubleLE((used.user + used.system) / 1e6, 4);
    head.writeBigUInt64LE(BigInt(start + flush >= items.length ? peak() : 0), 12);
    writeFrame(head, ...results);
  }
}

function main() {
  const settings = JSON.parse(process.argv[2]);
  const hello = {
    protocol: PROTOCOL,
    language: "javascript",
    implementation: "Node.js",
    version: process.versions.node,
    library: "JSON",
    library_version: `V8 ${process.versions.v8}`,
    readers: ["str"],
    writers: ["stringify"],
    numbers: "binary64",
    files: [],
    idle_bytes: peak(),
    context: { heap: settings.memory },
  };
  if (settings.option && settings.option !== "str") {
    hello.error = `JSON has no option '${settings.option}'; there are str`;
  }
  writeFrame(Buffer.from(JSON.stringify(hello)));
  if (hello.error) return;
  for (;;) {
    const body = readExactly(readExactly(4).readUInt32LE());
    const count = body.readUInt32LE(8);
    const items = [];
    let at = HEAD + 4 * count;
    for (let number = 0; number < count; number++) {
      const size = body.readUInt32LE(HEAD + 4 * number);
      items.push(body.subarray(at, at + size));
      at += size;
    }
    const one = makers[String.fromCharCode(body[0])](body[1] & NAMED);
    answer(items, one, body.readUInt32LE(4));
  }
}

main();
