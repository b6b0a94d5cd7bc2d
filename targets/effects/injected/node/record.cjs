// Loaded by every Node process below a watched launch (NODE_OPTIONS=--require): notes what the
// process does, and nothing else. It must never be noticed: nothing is printed, an error of its
// own is dropped, no descriptor stays open. Names that ES modules import from built-in modules
// are copies made at start, hence syncBuiltinESMExports at the end.
'use strict';

const fs = require('fs');
const net = require('net');
const dgram = require('dgram');
const childProcess = require('child_process');
const diagnostics = require('diagnostics_channel');
const { resolve } = require('path');
const { fileURLToPath } = require('url');
const { syncBuiltinESMExports } = require('module');

const journal = process.env.WIREFENCE_NODE_JOURNAL;
const { openSync, writeSync, closeSync } = fs; // as they were, so that a note is no effect
let depth = 0;

const bytes = (value) => (Buffer.isBuffer(value) ? value : Buffer.from(String(value)));
const escaped = (value) => bytes(value).toString('latin1')
  .replace(/\\/g, '\\\\').replace(/\t/g, '\\t').replace(/\n/g, '\\n');

function note(kind, detail, content = '') {
  try {
    const at = Number(process.hrtime.bigint()) / 1e9;
    const line = `${kind}\t${at}\t${process.pid}\t${escaped(detail)}\t${escaped(content)}\n`;
    const descriptor = openSync(journal, fs.constants.O_WRONLY | fs.constants.O_APPEND);
    try {
      writeSync(descriptor, Buffer.from(line, 'latin1'));
    } finally {
      closeSync(descriptor);
    }
  } catch { /* what goes wrong here must not reach the server */ }
}

// Replace owner[name] by a function that first notes what describe makes of the arguments.
// Calls that Node itself makes on the way are part of the first one.
function around(owner, name, kind, describe) {
  const original = owner && owner[name];
  if (typeof original !== 'function') return;
  function noted(...args) {
    if (depth === 0) {
      try {
        const [detail, content] = [].concat(describe.call(this, ...args));
        if (detail !== undefined) note(kind, detail, content);
      } catch { /* as above */ }
    }
    depth += 1;
    try {
      return new.target ? Reflect.construct(original, args, new.target) : original.apply(this, args);
    } finally {
      depth -= 1;
    }
  }
  Object.defineProperties(noted, Object.getOwnPropertyDescriptors(original));
  owner[name] = noted;
}

const path = (value) => {
  if (typeof value === 'number') return undefined; // an open descriptor
  if (value instanceof URL) return fileURLToPath(value);
  return Buffer.isBuffer(value) ? value : resolve(String(value));
};
const data = (value) => (
  typeof value === 'string' || ArrayBuffer.isView(value) ? Buffer.from(value).subarray(0, 65536) : ''
);
const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND } = fs.constants;
const writes = (flags) => (typeof flags === 'number'
  ? flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)
  : typeof flags === 'string' && /[wa+]/.test(flags));

const FILES = [
  ['open', 'write', (file, flags) => (writes(flags) ? path(file) : undefined)],
  ...['writeFile', 'appendFile'].map((name) => [name, 'write', (file, content) => {
    // A FileHandle has no path; what opened it has been noted.
    const known = typeof file === 'object' && !(file instanceof URL) && !Buffer.isBuffer(file);
    return known ? [undefined] : [path(file), data(content)];
  }]),
  ...['mkdir', 'mkdtemp', 'truncate'].map((name) => [name, 'write', path]),
  ...['copyFile', 'cp', 'symlink', 'link'].map((name) => [name, 'write', (from, to) => path(to)]),
  ...['unlink', 'rm', 'rmdir'].map((name) => [name, 'delete', path]),
  ['rename', 'rename', (from, to) => `${path(from)} -> ${path(to)}`],
];

function watchFiles() {
  for (const [name, kind, describe] of FILES) {
    around(fs, name, kind, describe);
    around(fs, `${name}Sync`, kind, describe);
    around(fs.promises, name, kind, describe);
  }
}

const endpoint = (options) => (options.path
  ? `unix:${options.path}` : `${options.host || options.hostname || 'localhost'}:${options.port}`);

function connected(...args) {
  const given = Array.isArray(args[0]) ? args[0] : args; // Node passes its own calls as one array
  const [first, second] = given;
  if (first !== null && typeof first === 'object') return endpoint(first);
  if (typeof first === 'string' && !/^\d+$/.test(first)) return `unix:${first}`;
  return `${typeof second === 'string' ? second : 'localhost'}:${first}`;
}

function watchNetwork() {
  around(net.Socket.prototype, 'connect', 'connect', connected);
  around(dgram.Socket.prototype, 'send', 'connect', (message, ...rest) => {
    const places = rest.filter((each) => ['number', 'string'].includes(typeof each));
    return `udp ${places.join(':')}`;
  });
  diagnostics.channel('http.client.request.start').subscribe(({ request }) => {
    note('http', `${request.method} ${request.protocol}//${request.getHeader('host') || request.host}${request.path}`);
  });
  diagnostics.channel('undici:request:create').subscribe(({ request }) => {
    note('http', `${request.method} ${request.origin}${request.path}`);
  });
}

const words = (file, args) => [file, ...(Array.isArray(args) ? args : [])].join(' ');

function watchProcesses() {
  // spawn, exec, execFile and fork all end here; its options hold argv with the name first.
  around(childProcess.ChildProcess.prototype, 'spawn', 'exec', (options) => (
    (options.args || [options.file]).join(' ')));
  around(childProcess, 'spawnSync', 'exec', words);
  around(childProcess, 'execFileSync', 'exec', words);
  around(childProcess, 'execSync', 'exec', (command) => command);
}

if (journal) {
  try {
    watchFiles();
    watchNetwork();
    watchProcesses();
    syncBuiltinESMExports();
    note('hello', process.execPath);
  } catch { /* an old Node without one of these is left alone, and says no hello */ }
}
