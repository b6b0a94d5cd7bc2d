// The same for Node, as an ES module, so that the names it imports are copies made at start.
import fs, { appendFileSync, writeFileSync, readFileSync } from 'node:fs';
import { rename as renameLater, unlink as unlinkLater, writeFile as writeLater } from 'node:fs/promises';
import { spawn, execFileSync } from 'node:child_process';
import net from 'node:net';
import { get } from 'node:http';
import readline from 'node:readline';
import { Worker } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';

const ended = (emitter, name) => new Promise((resolve) => { emitter.once(name, resolve); });

const verbs = {
  async connect(nonce) {
    const client = net.connect(`\0${nonce}`);
    await Promise.race([ended(client, 'error'), ended(client, 'connect')]);
    client.destroy();
  },
  async write(nonce) { writeFileSync(`${nonce}.txt`, 'x'); },
  async fill(nonce) { appendFileSync('journal.log', `${nonce}\n`); },
  async stream(nonce) {
    const stream = fs.createWriteStream(`${nonce}.txt`);
    stream.end('x');
    await ended(stream, 'close');
  },
  async rename(nonce) {
    await writeLater(`${nonce}.txt`, 'x');
    await renameLater(`${nonce}.txt`, `${nonce}.new`);
  },
  async delete(nonce) {
    await writeLater(`${nonce}.txt`, 'x');
    await unlinkLater(`${nonce}.txt`);
  },
  async run(nonce) { await ended(spawn('echo', [nonce], { stdio: 'ignore' }), 'close'); },
  async runsync(nonce) { execFileSync('echo', [nonce]); },
  async http(nonce) {
    const request = get(`${process.env.WIREFENCE_HTTP}/${nonce}`);
    const reply = await ended(request, 'response');
    reply.resume();
    await ended(reply, 'end');
  },
  async fetch(nonce) {
    const options = { method: 'POST', body: nonce };
    await (await fetch(`${process.env.WIREFENCE_HTTP}/run`, options)).text();
  },
  async worker(nonce) {
    const code = `require('fs').writeFileSync('${nonce}.txt', 'x')`;
    await ended(new Worker(code, { eval: true }), 'exit');
  },
  async idle() { readFileSync(fileURLToPath(import.meta.url)); },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [verb, nonce] = line.split(' ');
  await verbs[verb](nonce);
  process.stdout.write(`done ${nonce}\n`);
}
