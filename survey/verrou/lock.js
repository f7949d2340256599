// Verrou (https://verrou.dev) with its Redis store on ioredis.
//
//     node lock.js [immediately]
//
// With "immediately" it asks with acquireImmediately, again and again; else it waits with acquire.
'use strict';
const Redis = require('ioredis');
const { Failure, main, nowMs, nowNs, sleep } = require('../../examples/node/protocol.js');
const { Breaks, hostPort, sinceLastTry, within } = require('../adapter.js');
const { readFileSync } = require('node:fs');

const immediately = process.argv[2] === 'immediately';
const version = (name) => JSON.parse(readFileSync(`${__dirname}/node_modules/${name}/package.json`)).version;

class Lock {
  breaks = new Breaks();
  grants = new Map();

  constructor(hello, { Verrou, E_LOCK_NOT_OWNED }, { redisStore }) {
    this.ttl = hello.ttl_ms;
    this.notOwned = E_LOCK_NOT_OWNED;
    this.client = this.breaks.watch(new Redis(hostPort(hello.nodes[0])));
    const set = this.client.set.bind(this.client);
    this.client.set = (...args) => {
      this.began = nowNs();
      return set(...args);
    };
    const driver = redisStore({ connection: this.client });
    this.verrou = new Verrou({ default: 'redis', stores: { redis: { driver } } });
  }

  declare() {
    const how = immediately ? 'acquireImmediately' : 'acquire';
    return {
      name: `@verrou/core ${version('@verrou/core')} ${how} with ioredis ${version('ioredis')}`,
      validity: 'library', // getRemainingTime
      token: 'none',
      can: ['held'], // isExpired, which asks no one
      confirms: ['release', 'renew'], // a script compares the owner, and E_LOCK_NOT_OWNED says that it is another
    };
  }

  // The clock is read before the library's word, so that a stop in between makes it shorter, never longer.
  granted(lock, began) {
    const passed = Number(nowNs() - began) / 1e6;
    const left = lock.getRemainingTime();
    const stamp = this.breaks.count === this.before ? { attempt_ns: String(began) } : {};
    return { ...stamp, valid_for_ms: left > 0 && stamp.attempt_ns ? passed + left : left };
  }

  async wait(lock, timeout) {
    if (!immediately) return lock.acquire({ retry: { timeout, delay: 20 } });
    for (const end = nowMs() + timeout; nowMs() < end; await sleep(20)) {
      if (await lock.acquireImmediately()) return true;
    }
    return false;
  }

  async acquire(key, timeout) {
    const first = nowNs();
    this.before = this.breaks.count;
    const lock = this.verrou.createLock(key, this.ttl);
    try {
      const got = await within(this.wait(lock, timeout), timeout + 500, (late) => late && lock.release());
      if (!got && this.breaks.count === this.before) throw new Failure('busy'); // every request was answered, with no
      if (!got) throw new Error('false, and a connection ended meanwhile');
    } catch (e) {
      throw e instanceof Failure ? e : Object.assign(e, { first });
    }
    this.grants.set(key, lock);
    return sinceLastTry(this.granted(lock, this.began));
  }

  async change(call, timeout) {
    this.before = this.breaks.count;
    try {
      await within(call(), timeout);
    } catch (e) {
      if (e instanceof this.notOwned && this.breaks.count === this.before) throw new Failure('not_held');
      throw e;
    }
  }

  async held(key) {
    if (this.grants.get(key).isExpired()) throw new Error('expired, by its own clock');
    return {};
  }

  async renew(key, timeout) {
    const began = nowNs();
    const lock = this.grants.get(key);
    await this.change(() => lock.extend(), timeout);
    return this.granted(lock, began);
  }

  async release(key, timeout) {
    await this.change(() => this.grants.get(key).release(), timeout);
    return {};
  }

  async close() {
    this.client.disconnect();
  }
}

main(async (hello) => new Lock(hello, await import('@verrou/core'), await import('@verrou/core/drivers/redis')));
