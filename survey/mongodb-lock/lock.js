// mongodb-lock (https://github.com/chilts/mongodb-lock), with the driver that it was written for.
'use strict';
const { promisify } = require('node:util');
const { MongoClient } = require('mongodb');
const mongoDbLock = require('mongodb-lock');
const { Failure, main, nowMs, nowNs, sleep } = require('../../examples/node/protocol.js');
const { within } = require('../adapter.js');

class Lock {
  grants = new Map();

  constructor(hello, client) {
    this.ttl = hello.ttl_ms;
    this.client = client;
    this.collection = client.db('lockchaos').collection('locks');
  }

  declare() {
    return {
      name: `mongodb-lock ${require('mongodb-lock/package.json').version}`,
      validity: 'from_invocation', // timeout, by the clock of the client
      token: 'none', // its code is a string
      confirms: ['release'], // it compares the code
    };
  }

  make(key) {
    const lock = mongoDbLock(this.collection, key, { timeout: this.ttl });
    return { acquire: promisify(lock.acquire).bind(lock), release: promisify(lock.release).bind(lock) };
  }

  // acquire does not wait: it is asked again until the time is over.
  async acquire(key, timeout) {
    const lock = this.make(key);
    for (const end = nowMs() + timeout; nowMs() < end; await sleep(20)) {
      const began = nowNs();
      try {
        const code = await within(lock.acquire(), end - nowMs() + 200, (late) => late && lock.release(late));
        if (!code) continue;
        this.grants.set(key, { lock, code });
        return { attempt_ns: String(began), first_ns: String(began) };
      } catch (e) {
        throw Object.assign(e, { first: began });
      }
    }
    throw new Failure('busy'); // each try was answered, with no code
  }

  async release(key, timeout) {
    const grant = this.grants.get(key);
    this.grants.delete(key);
    if (!grant || !await within(grant.lock.release(grant.code), timeout)) throw new Failure('not_held');
    return {};
  }

  async close() {
    await this.client.close(true);
  }
}

main(async (hello) => {
  const client = await MongoClient.connect(`mongodb://${hello.nodes[0]}`, { useUnifiedTopology: true });
  const lock = new Lock(hello, client);
  await promisify((done) => mongoDbLock(lock.collection, 'any').ensureIndexes(done))();
  return lock;
});
