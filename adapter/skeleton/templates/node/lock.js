// An adapter: a lock in Node that lockchaos can test.
//
// lockchaos starts this program once for every client, and speaks JSON lines with it: a request on standard input, its
// reply on standard output. It is one client, asked one thing at a time. See docs/protocol.md.
//
// As it stands this is a complete lock on one Redis server, without any library: SET NX PX, with a fencing token from a
// counter. Put your own lock in its place in the class Lock, and say in `declare` what it promises.
//
//     lockchaos adapter test "node lock.js" --service redis      what is missing or wrong, with the exchange that shows it
//     lockchaos run quick --lock-cmd "node lock.js" --service redis
'use strict';
const crypto = require('node:crypto');
const net = require('node:net');
const readline = require('node:readline');

// The clock that all processes of the machine share, in ns. Take stamps from this one only. They go as strings: a double
// does not hold them all.
const nowNs = () => process.hrtime.bigint();
const nowMs = () => Number(nowNs() / 1000000n);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// A failure that is definite: nothing happened, and nothing will.
//
// busy: another holds the key. not_held: the service says that it is no longer ours. unsupported: no such operation.
// Anything else that goes wrong (a timeout, a broken connection) leaves open whether it happened: throw what you like.
class Failure extends Error {}

// Your lock. One instance is one client.
class Lock {
  constructor(hello) {
    this.nodes = hello.nodes; // the service's addresses, "10.88.0.2:6379"
    // hello.account is a user, password and database, for a library that insists on them (docs/protocol.md).
    this.ttl = hello.ttl_ms; // how long a lease or session is to last
    this.client = hello.client; // "c3": for values that a human can read in the service
    this.redis = new Redis(this.nodes[0]);
    this.values = new Map(); // the value under which each key is ours
  }

  // What may be concluded from the answers. A claim that you do not make is not held against the lock.
  declare() {
    return {
      name: 'my-lock 0.1', // with its version: it stands in the report
      // How long a grant is good for. from_invocation: the TTL, from the start of the attempt that succeeded.
      // session: until a lost-event. library: as long as valid_for_ms says. Leave it out for no claim.
      validity: 'from_invocation',
      // fencing: a number that rises with every grant, so that a store can refuse older ones. Else "none".
      token: 'fencing',
      // Ops whose ok proves that the lock was still held. Release here compares before it deletes, so its ok does.
      confirms: ['release', 'held', 'renew'],
    };
  }

  // Takes the key within so many ms, or throws: Failure('busy') if another clearly holds it.
  async acquire(key, timeout) {
    const end = nowMs() + timeout;
    const value = `${this.client}-${crypto.randomBytes(8).toString('hex')}`;
    let first = null; // when the first attempt began that may have taken effect
    for (;;) {
      const began = nowNs();
      let token = 0;
      try {
        // An attempt that is under way when the time is over is given a moment more: cut off, it would be an open question.
        token = await this.redis.eval(TAKE, [key, `${key}:token`], [value, this.ttl], end + 200);
      } catch (e) {
        if (e instanceof ServerError) throw e;
        // No answer: the server may have taken the key for us, or may yet. Try again while there is time.
        first ??= began;
      }
      if (token && nowNs() - began < BigInt(this.ttl) * 1000000n) {
        this.values.set(key, value);
        return { token, attempt_ns: String(began), first_ns: String(first ?? began) };
      }
      if (token) first ??= began; // an answer that came too late is no grant
      if (nowMs() + 10 >= end) break;
      await sleep(10);
    }
    if (first === null) throw new Failure('busy');
    throw new Error('an attempt was not answered: it may hold the key until its TTL is over');
  }

  // Returns if the key is still ours. Delete this method if your lock can't be asked.
  async held(key, timeout) {
    if (await this.redis.eval(HAS, [key], [this.values.get(key) ?? ''], nowMs() + timeout) !== 1) throw new Failure('not_held');
    return {};
  }

  // Lets the lease begin anew. Delete this method if your lock renews itself, or never.
  async renew(key, timeout) {
    const began = nowNs();
    if (await this.redis.eval(EXTEND, [key], [this.values.get(key) ?? '', this.ttl], nowMs() + timeout) !== 1) throw new Failure('not_held');
    return { attempt_ns: String(began) };
  }

  // Gives the key back.
  async release(key, timeout) {
    if (await this.redis.eval(FREE, [key], [this.values.get(key) ?? ''], nowMs() + timeout) !== 1) throw new Failure('not_held');
    this.values.delete(key);
    return {};
  }

  // Gives up connections, and the session if there is one.
  async close() {
    this.redis.close();
    return {};
  }
}

// A lock that notices by itself that it is lost says so, at any time:
//     send({ event: 'lost', key, why: 'session expired' });
// Where grants rest on a session declare "sessions": true, and tell it with each: "session": "0x1f" (docs/protocol.md).
// A lock that waits long can be told to give a wait up: declare "can": ["cancel"], and read standard input meanwhile (docs/protocol.md).

const TAKE = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end return 0`;
const HAS = `if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0`;
const EXTEND = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;
const FREE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

INCLUDE redis.js

// What follows speaks the protocol; it can stay as it is.

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function answer(lock, request) {
  if (request.op === 'close') return lock.close();
  if (!['acquire', 'held', 'renew', 'release'].includes(request.op) || !lock[request.op]) throw new Failure('unsupported');
  return lock[request.op](request.key, request.timeout_ms);
}

async function main() {
  let lock;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let reply;
    try {
      if (request.op === 'hello') lock = new Lock(request);
      reply = { id: request.id, ok: true, ...(request.op === 'hello' ? lock.declare() : await answer(lock, request)) };
    } catch (e) {
      if (!(e instanceof Failure)) console.error(`${request.op}:`, e); // console.log would print on standard output
      const error = e instanceof Failure ? e.message : 'unknown'; // whatever it was: it may have happened, or not
      reply = { id: request.id, ok: false, error, text: String(e.message) };
    }
    send(reply);
  }
  process.exit(0); // open connections would keep the process alive
}

main();
