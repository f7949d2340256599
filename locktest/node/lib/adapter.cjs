// Runs a lock of a test file for lockchaos: the protocol of adapters (docs/protocol.md) on the standard streams.
//
//     node adapter.cjs FILE NAME
//
// One process is one client.
'use strict';
const { pathToFileURL } = require('node:url');
const readline = require('node:readline');
const core = require('./examine.cjs');
const frameworks = require('./frameworks.cjs');

// How long a call may go on after its time, so that a lock that has waited for all of it can still say what came of it.
const grace = 1000;

// What the test file prints is for people: the protocol has the standard output for itself.
const protocol = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);
const send = (message) => protocol(`${JSON.stringify(message, (_, v) => (typeof v === 'bigint' ? String(v) : v))}\n`);

// It is open what happened, whatever errors the lock has names for.
class Open extends Error {}

const isObject = (value) => typeof value === 'object' && value !== null;
const saidByError = (words, error) => !(error instanceof Open) && core.several(words ?? []).some((w) => typeof w === 'function' && error instanceof w);

// Waits for a call that keeps to its time. What one that does not comes to later is given to tooLate.
function within(timeout, call, tooLate = () => {}) {
  let late = false;
  const made = Promise.resolve().then(call);
  made.then((result) => { if (late) tooLate(result); }, () => {});
  let timer;
  const over = new Promise((_, failed) => {
    timer = setTimeout(() => { late = true; failed(new Open('no answer within the time limit')); }, timeout);
  });
  return Promise.race([made, over]).finally(() => clearTimeout(timer));
}

// One client: the lock, and what lockchaos asks of it.
class Client {
  constructor(options, lock, name) {
    Object.assign(this, { options, lock, name, grants: new Map() });
    for (const op of ['acquire', 'release']) {
      if (typeof lock?.[op] !== 'function') throw new TypeError(`${name}: the function returned no lock: it has no ${op}`);
    }
  }

  static async open({ options, open }, hello, name) {
    const lost = (key, why = '') => send({ event: 'lost', key, why: String(why) });
    const { nodes = [], ttl_ms: ttl, client, dir, seed, service, account = {} } = hello;
    return new Client(options, await open({ nodes, ttl, client, dir, seed, service, account, lost }), name);
  }

  // The claims, and what the lock can besides.
  declare() {
    const said = Object.fromEntries(core.claims.filter((c) => this.options[c] !== undefined).map((c) => [c, this.options[c]]));
    const known = [...(said.confirms ?? []), ...(said.can ?? [])];
    const can = [...(said.can ?? []), ...['held', 'renew'].filter((op) => typeof this.lock[op] === 'function' && !known.includes(op))];
    return { name: this.name, ...said, ...(can.length ? { can } : {}) };
  }

  async acquire({ key, mode, permits, keys = [key] }, timeout) {
    const result = await within(timeout + grace, () => this.lock.acquire(key, timeout, { mode, permits, keys }), (late) => {
      if (late !== false) Promise.resolve().then(() => this.of(key, 'release', late).call(this.at(late, 'release'), key)).catch(() => {});
    });
    if (result === false) {
      if (core.several(this.options.busy ?? []).includes(false)) throw new core.Busy('acquire returned false');
      throw new Open('acquire returned false, which leaves open whether it took the key (busy: false says that it did not)');
    }
    this.grants.set(key, result);
    const reply = this.members(result);
    if ((this.options.token ?? 'none') !== 'none') reply.token ??= ['number', 'bigint'].includes(typeof result) ? result : result?.token ?? this.lock.token;
    return reply;
  }

  // The members of a reply that the lock gives itself: stamps, and how long the grant is good for.
  members(result) {
    if (!isObject(result)) return {};
    return Object.fromEntries(['token', 'valid_for_ms', 'attempt_ns', 'first_ns', 'enqueued_ns'].filter((m) => result[m] !== undefined && (m !== 'token' || (this.options.token ?? 'none') !== 'none')).map((m) => [m, result[m]]));
  }

  // A grant that has the operation itself does it: libraries return a lock of the key from acquire.
  at(grant, op) { return isObject(grant) && typeof grant[op] === 'function' ? grant : this.lock; }

  of(key, op, grant = this.grants.get(key)) { return this.at(grant, op)[op]; }

  async confirmed(op, key, timeout) {
    const grant = this.grants.get(key);
    const method = this.of(key, op);
    if (typeof method !== 'function') throw new core.NotHeld(`there is no ${op}`);
    const result = await within(timeout + grace, () => method.call(this.at(grant, op), key, timeout));
    if (result === false) throw new core.NotHeld(`${op} returned false`);
    return result;
  }

  async renew({ key }, timeout) { return this.members(await this.confirmed('renew', key, timeout)); }

  async held({ key }, timeout) { await this.confirmed('held', key, timeout); return {}; }

  async release({ key }, timeout) {
    await this.confirmed('release', key, timeout);
    this.grants.delete(key);
    return {};
  }

  async close(_, timeout) {
    await within(timeout, () => this.lock.close?.());
    return {};
  }
}

// The members of a reply that tell a failure. What is not known to be definite is open.
function failed(op, error, options) {
  if (op === 'acquire' && (error instanceof core.Busy || saidByError(options.busy, error))) return { ok: false, error: 'busy' };
  if (['release', 'renew', 'held'].includes(op) && (error instanceof core.NotHeld || saidByError(options.notHeld, error))) return { ok: false, error: 'not_held' };
  console.error(`${op}:`, error);
  return { ok: false, error: 'unknown', text: String(error) };
}

async function main([file, name]) {
  globalThis[core.registry] = new Map();
  frameworks.stub();
  await import(pathToFileURL(file));
  const exam = globalThis[core.registry].get(name);
  if (!exam) throw new Error(`${file} has no examine(${JSON.stringify(name)}, …) that is called when it is imported`);
  let client;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let reply = { ok: true };
    if (request.op === 'hello') { // what goes wrong here ends the adapter, with its stack
      client = await Client.open(exam, request, name);
      Object.assign(reply, client.declare());
    } else {
      try {
        Object.assign(reply, await client[request.op](request, request.timeout_ms));
      } catch (error) {
        reply = failed(request.op, error, exam.options);
      }
    }
    send({ id: request.id, ...reply });
  }
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
