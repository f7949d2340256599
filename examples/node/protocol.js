// The protocol of lockchaos adapters (docs/protocol.md), for the examples beside this file.
//
// A class with the methods declare, acquire, release, close, and held and renew if it can, is all
// that a lock needs. What they return are members of the reply, such as "token" of an acquire.
// acquire(key, timeout, signal, mode) gets an AbortSignal: a lock that declares "can": ["cancel"]
// gives the wait up when that is aborted. mode is "read" or "write", of a lock that declares
// "read_write". A lock that declares "sessions" has a method session, which
// returns what its service knows the present session by (a string), or nothing. An error that
// leaves an acquire open may say as "first" when the first request was sent that may have taken the
// key.
'use strict';
const readline = require('node:readline');

// The clock that all processes of the machine share, in ns. Stamps go as strings: a double does not
// hold them all.
const nowNs = () => process.hrtime.bigint();
const nowMs = () => Number(nowNs() / 1000000n);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// A failure that is definite: "busy", "not_held" or "unsupported". Any other error leaves open what
// happened.
class Failure extends Error {}

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function answer(lock, request, signal) {
  if (request.op === 'close') {
    await lock.close();
    return {};
  }
  if (!['acquire', 'held', 'renew', 'release'].includes(request.op) || typeof lock[request.op] !== 'function') throw new Failure('unsupported');
  return lock[request.op](request.key, request.timeout_ms, signal, request.mode);
}

// The members of a reply that tell the session, also of an acquire that failed: a client that waits
// can lose its session, too.
const session = (lock, op) => {
  const told = ['hello', 'acquire'].includes(op) && lock?.session?.();
  return told ? { session: told } : {};
};

// The members of a reply that tell a failure.
function failed(lock, op, e) {
  const definite = e instanceof Failure;
  if (!definite) console.error(`${op}: ${e}`);
  const first = op === 'acquire' && e.first ? { first_ns: String(e.first) } : {};
  const told = definite ? { error: e.message } : { error: 'unknown', text: String(e) };
  return { ok: false, ...told, ...first, ...session(lock, op) };
}

// Answers requests until there are no more. open(hello) makes the lock.
async function main(open) {
  let lock;
  const carryOut = async (request, signal) => {
    let reply = { ok: true };
    try {
      if (request.op === 'hello') {
        lock = await open(request);
        Object.assign(reply, lock.declare());
      } else {
        Object.assign(reply, await answer(lock, request, signal));
      }
      reply = { ...session(lock, request.op), ...reply };
    } catch (e) {
      reply = failed(lock, request.op, e);
    }
    send({ id: request.id, ...reply });
  };
  let giveUp = new AbortController(); // the request that is under way; of one that is answered it means nothing
  let done = Promise.resolve();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    if (request.op === 'cancel') {
      giveUp.abort();
      continue;
    }
    giveUp = new AbortController();
    const { signal } = giveUp;
    done = done.then(() => carryOut(request, signal));
  }
  giveUp.abort();
  await done;
  process.exit(0);
}

module.exports = { Failure, main, nowMs, nowNs, send, sleep };
