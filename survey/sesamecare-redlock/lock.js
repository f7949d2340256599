// Sesame Care's Redlock (https://github.com/sesamecare/redlock) with ioredis.
'use strict';
const Redis = require('ioredis');
const { Redlock, ExecutionError, ResourceLockedError } = require('@sesamecare-oss/redlock');
const { Failure, main, nowNs } = require('../../examples/node/protocol.js');
const { Breaks, hostPort, sinceLastTry, within } = require('../adapter.js');

const retryDelay = 200; // the library's own pause between two tries, in ms
const version = (name) => require(`${name}/package.json`).version;

// The library as it is, which notes when its last try began.
class Stamped extends Redlock {
  _attemptOperation(script, ...rest) {
    if (script !== 'releaseLock') this.began = nowNs();
    return super._attemptOperation(script, ...rest);
  }
}

class Lock {
  breaks = new Breaks();
  grants = new Map();

  constructor(hello) {
    this.ttl = hello.ttl_ms;
    this.clients = hello.nodes.map((node) => this.breaks.watch(new Redis(hostPort(node))));
    this.redlock = new Stamped(this.clients);
  }

  declare() {
    return {
      name: `@sesamecare-oss/redlock ${version('@sesamecare-oss/redlock')} with ioredis ${version('ioredis')}`,
      validity: 'library', // lock.expiration
      token: 'none',
      confirms: ['release', 'renew'], // a majority of the servers has compared the value
      can: ['held'], // lock.expiration, which asks no one
      tolerates: 'minority', // "it does not care if a minority of redis instances/clusters fail at an operation"
    };
  }

  // For how long the library says that a lock is good, from the start of the attempt. The clock is read before the
  // library's word, so that a stop in between makes it shorter, never longer.
  granted(lock) {
    const began = this.redlock.began;
    const passed = Number(nowNs() - began) / 1e6;
    const left = lock.expiration - Date.now();
    const stamp = this.breaks.count === this.before ? { attempt_ns: String(began) } : {};
    return { ...stamp, valid_for_ms: left > 0 && stamp.attempt_ns ? passed + left : left };
  }

  // "definite" if each server has answered, and refused.
  async refused(e) {
    if (!(e instanceof ExecutionError) || this.breaks.count !== this.before) return false;
    const attempts = await Promise.all(e.attempts);
    return attempts.every((a) => [...a.votesAgainst.values()].every((v) => v instanceof ResourceLockedError));
  }

  async acquire(key, timeout) {
    const first = nowNs();
    this.before = this.breaks.count;
    try {
      const retryCount = Math.floor(timeout / retryDelay);
      const acquire = this.redlock.acquire([key], this.ttl, { retryCount });
      const lock = await within(acquire, timeout + 1000, (late) => late.release());
      this.grants.set(key, lock);
      return sinceLastTry(this.granted(lock));
    } catch (e) {
      if (await within(this.refused(e), 500).catch(() => false)) throw new Failure('busy');
      throw Object.assign(e, { first });
    }
  }

  async change(call, timeout) {
    this.before = this.breaks.count;
    try {
      return await within(call(), timeout);
    } catch (e) {
      if (await within(this.refused(e), 500).catch(() => false)) throw new Failure('not_held');
      throw e;
    }
  }

  async held(key) {
    if (this.grants.get(key).expiration <= Date.now()) throw new Error('expired, by its own clock');
    return {};
  }

  async renew(key, timeout) {
    const lock = await this.change(() => this.grants.get(key).extend(this.ttl), timeout);
    this.grants.set(key, lock);
    return this.granted(lock);
  }

  async release(key, timeout) {
    await this.change(() => this.redlock.release(this.grants.get(key), { retryCount: 0 }), timeout);
    return {};
  }

  async close() {
    for (const client of this.clients) client.disconnect();
  }
}

main((hello) => new Lock(hello));
