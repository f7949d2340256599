// node-redis-warlock (https://github.com/TheDeveloper/warlock) with node-redis 3, whose callbacks it uses.
'use strict';
const { promisify } = require('node:util');
const redis = require('redis');
const Warlock = require('node-redis-warlock');
const { Failure, main, nowMs, nowNs, sleep } = require('../../examples/node/protocol.js');
const { Breaks, hostPort, sinceLastTry, within } = require('../adapter.js');

const version = (name) => require(`${name}/package.json`).version;

class Lock {
  breaks = new Breaks();
  grants = new Map();

  constructor(hello) {
    this.ttl = hello.ttl_ms;
    this.client = this.breaks.watch(redis.createClient(hostPort(hello.nodes[0])));
    const warlock = Warlock(this.client);
    this.unlock = promisify(warlock.unlock);
    this.touch = promisify(warlock.touch);
    // Its callback gets an unlock function if the lock was set, and the lock's id.
    this.lock = (key) => new Promise((done, fail) => {
      warlock.lock(key, this.ttl, (err, unlock, id) => (err ? fail(err) : done(unlock && id)));
    });
  }

  declare() {
    return {
      name: `node-redis-warlock ${version('node-redis-warlock')} with redis ${version('redis')}`,
      validity: 'from_invocation', // "Lifetime of the lock"
      token: 'none',
      confirms: ['release', 'renew'], // a script compares the id; "unlocked successfully" if it says 1
    };
  }

  async acquire(key, timeout) {
    const first = nowNs();
    const before = this.breaks.count;
    for (const end = nowMs() + timeout; nowMs() < end; await sleep(20)) {
      const began = nowNs();
      try {
        const id = await within(this.lock(key), end - nowMs() + 200, (late) => late && this.unlock(key, late));
        if (!id) continue;
        this.grants.set(key, id);
        return sinceLastTry(this.breaks.count === before ? { attempt_ns: String(began) } : {});
      } catch (e) {
        throw Object.assign(e, { first });
      }
    }
    if (this.breaks.count === before) throw new Failure('busy'); // every request was answered, with no
    throw Object.assign(new Error('refused, and a connection ended meanwhile'), { first });
  }

  async change(call, timeout) {
    const before = this.breaks.count;
    const done = await within(call(), timeout);
    if (done) return;
    if (this.breaks.count === before) throw new Failure('not_held');
    throw new Error('refused, and a connection ended meanwhile');
  }

  async renew(key, timeout) {
    const began = nowNs();
    await this.change(() => this.touch(key, this.grants.get(key), this.ttl), timeout);
    return { attempt_ns: String(began) };
  }

  async release(key, timeout) {
    await this.change(() => this.unlock(key, this.grants.get(key)), timeout);
    return {};
  }

  async close() {
    this.client.end(false);
  }
}

main((hello) => new Lock(hello));
