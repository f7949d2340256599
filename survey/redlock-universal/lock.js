// redlock-universal (https://github.com/alexpota/redlock-universal) with ioredis: createRedlock, or createLock.
//
//     node lock.js [redlock|simple]
'use strict';
const { readFileSync } = require('node:fs');
const Redis = require('ioredis');
const { createLock, createRedlock, IoredisAdapter } = require('redlock-universal');
const { Failure, main, nowNs } = require('../../examples/node/protocol.js');
const { Breaks, hostPort, sinceLastTry, within } = require('../adapter.js');

const redlock = process.argv[2] !== 'simple';
const retryDelay = redlock ? 200 : 100; // the library's own pause between two tries, in ms
const version = (name) => JSON.parse(readFileSync(`${__dirname}/node_modules/${name}/package.json`)).version;

class Lock {
  breaks = new Breaks();
  grants = new Map();

  constructor(hello) {
    this.ttl = hello.ttl_ms;
    this.clients = hello.nodes.map((node) => this.breaks.watch(new Redis(hostPort(node))));
    const set = this.clients[0].set.bind(this.clients[0]); // every try asks it first
    this.clients[0].set = (...args) => {
      this.began = nowNs();
      return set(...args);
    };
    this.adapters = this.clients.map((client) => new IoredisAdapter(client));
  }

  make(key, timeout) {
    const options = { key, ttl: this.ttl, retryAttempts: Math.floor(timeout / retryDelay) };
    if (redlock) return createRedlock({ ...options, adapters: this.adapters });
    return createLock({ ...options, adapter: this.adapters[0] });
  }

  declare() {
    const how = redlock ? 'createRedlock' : 'createLock';
    return {
      name: `redlock-universal ${version('redlock-universal')} ${how} with ioredis ${version('ioredis')}`,
      validity: 'library', // the handle's acquiredAt and ttl
      token: 'none',
      confirms: ['release', 'renew'], // scripts compare the value, on a quorum
      ...(redlock && { tolerates: 'minority' }), // "Distributed consensus - survives node failures"
    };
  }

  async acquire(key, timeout) {
    const first = nowNs();
    const before = this.breaks.count;
    const lock = this.make(key, timeout);
    let handle;
    try {
      handle = await within(lock.acquire(), timeout + 1000, (late) => lock.release(late));
    } catch (e) {
      // "Lock is held by another process", or a request that was not answered in time: it says no more than that.
      throw Object.assign(e, { first });
    }
    this.grants.set(key, { lock, handle });
    // The clock is read before the library's word, so that a stop in between makes it shorter, never longer.
    const passed = Number(nowNs() - this.began) / 1e6;
    const left = handle.acquiredAt + handle.ttl - Date.now();
    if (this.breaks.count !== before) return { valid_for_ms: left };
    return sinceLastTry({ attempt_ns: String(this.began), valid_for_ms: left > 0 ? passed + left : left });
  }

  async change(call, timeout) {
    const before = this.breaks.count;
    if (await within(call, timeout)) return;
    // With one server, false is its word. Of five, some may not have answered.
    if (!redlock && this.breaks.count === before) throw new Failure('not_held');
    throw new Error('false');
  }

  async renew(key, timeout) {
    const began = nowNs();
    const { lock, handle } = this.grants.get(key);
    await this.change(lock.extend(handle, this.ttl), timeout);
    return { attempt_ns: String(began), valid_for_ms: this.ttl };
  }

  async release(key, timeout) {
    const { lock, handle } = this.grants.get(key);
    await this.change(lock.release(handle), timeout);
    return {};
  }

  async close() {
    for (const client of this.clients) client.disconnect();
  }
}

main((hello) => new Lock(hello));
