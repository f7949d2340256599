// advisory-lock (https://github.com/olalonde/advisory-lock) on PostgreSQL.
'use strict';
const { main, nowMs, nowNs, send, sleep, Failure } = require('../../examples/node/protocol.js');
const { within } = require('../adapter.js');
const advisoryLock = require('advisory-lock').default;

const version = (name) => require(`${name}/package.json`).version;
const grants = new Map();

class Lock {
  constructor(hello) {
    this.mutex = advisoryLock(`postgres://lockchaos@${hello.nodes[0]}/postgres`);
  }

  declare() {
    return {
      name: `advisory-lock ${version('advisory-lock')} with pg ${version('pg')}`,
      validity: 'session',
      token: 'none',
      no_expiry: true,
    };
  }

  // lock() waits for ever, and can't be given up: tryLock is asked again until the time is over.
  async acquire(key, timeout) {
    const first = nowNs();
    const mutex = this.mutex(key);
    for (const end = nowMs() + timeout; nowMs() < end; await sleep(20)) {
      const began = nowNs();
      try {
        const unlock = await within(mutex.tryLock(), end - nowMs() + 100, (late) => late?.());
        if (!unlock) continue;
        grants.set(key, unlock);
        return { attempt_ns: String(began), first_ns: String(began) };
      } catch (e) {
        throw Object.assign(e, { first });
      }
    }
    throw new Failure('busy'); // each try was answered, with no
  }

  async release(key, timeout) {
    const unlock = grants.get(key);
    grants.delete(key);
    await within(unlock(), timeout);
    return {};
  }

  async close() {}
}

// The library listens to no errors of its connection: one that ends is an uncaught exception, which ends the process.
// That the lock is lost is then plain, so it counts as told.
process.on('uncaughtException', (e) => {
  console.error(`uncaught: ${e}`);
  for (const key of grants.keys()) send({ event: 'lost', key, why: String(e) });
});

main((hello) => new Lock(hello));
