// What the adapters of Node libraries share: a time limit for a call, and a note of broken connections.
'use strict';

const late = Symbol('late');

// Waits for a promise, ms at most. What settles later goes to tooLate, which gives it back.
async function within(promise, ms, tooLate = () => {}) {
  let timer;
  const limit = new Promise((done) => { timer = setTimeout(done, ms, late); });
  const first = await Promise.race([promise, limit]).finally(() => clearTimeout(timer));
  if (first !== late) return first;
  promise.then(tooLate).catch(() => {});
  throw new Error(`no answer within ${ms} ms`);
}

// Splits the address of a node.
function hostPort(node) {
  const colon = node.lastIndexOf(':');
  return { host: node.slice(0, colon), port: Number(node.slice(colon + 1)) };
}

// Counts how often the connection of a Redis client ended. A command may have been sent twice then, or not answered.
class Breaks {
  count = 0;

  watch(client) {
    client.on('error', () => { this.count++; });
    for (const event of ['close', 'end', 'reconnecting']) client.on(event, () => { this.count++; });
    return client;
  }
}

// The stamps of a grant whose earlier tries were all answered, with no: none of them may have been the grant.
const sinceLastTry = (reply) => (reply.attempt_ns ? { ...reply, first_ns: reply.attempt_ns } : reply);

module.exports = { Breaks, hostPort, sinceLastTry, within };
