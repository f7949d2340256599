// The protocol of lockchaos adapters (docs/protocol.md), for the examples beside this file.
//
// A class with the methods declare, acquire, release, close, and held and renew if it can, is all that a lock needs. What they
// return are members of the reply, such as "token" and "session" of an acquire.
'use strict';
const readline = require('node:readline');

// The clock that all processes of the machine share, in ns. Stamps go as strings: a double does not hold them all.
const nowNs = () => process.hrtime.bigint();
const nowMs = () => Number(nowNs() / 1000000n);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// A failure that is definite: "busy", "not_held" or "unsupported". Any other error leaves open what happened.
class Failure extends Error {}

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function answer(lock, request) {
  if (request.op === 'close') {
    await lock.close();
    return {};
  }
  if (!['acquire', 'held', 'renew', 'release'].includes(request.op) || !lock[request.op]) throw new Failure('unsupported');
  return lock[request.op](request.key, request.timeout_ms);
}

// Answers requests until there are no more. open(hello) makes the lock.
async function main(open) {
  let lock;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let reply = { id: request.id, ok: true };
    try {
      if (request.op === 'hello') {
        lock = await open(request);
        Object.assign(reply, lock.declare());
      } else {
        Object.assign(reply, await answer(lock, request));
      }
    } catch (e) {
      const definite = e instanceof Failure;
      if (!definite) console.error(`${request.op}: ${e}`);
      reply = { id: request.id, ok: false, error: definite ? e.message : 'unknown', ...(definite ? {} : { text: String(e) }), ...(e.first ? { first_ns: e.first } : {}) };
    }
    send(reply);
  }
  process.exit(0);
}

module.exports = { Failure, main, nowMs, nowNs, sleep };
