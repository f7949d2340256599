// Redlock for Node (https://github.com/mike-marcacci/node-redlock) with ioredis, as an adapter for lockchaos.
//
//     npm ci --prefix examples/node
//     lockchaos adapter test "node examples/node/redlock_lock.js" --service redis-five
//     lockchaos run quick --lock-cmd "node examples/node/redlock_lock.js" --service redis-five
//
// docs/locks/redlock-node.md tells what was found.
'use strict';
const Redis = require('ioredis');
const Redlock = require('redlock');
const { Failure, main, nowMs, nowNs, sleep } = require('./protocol.js');

// Without limits a call hangs for as long as the network does.
const answerLimit = 300;

class Lock {
  constructor(hello) {
    this.ttl = hello.ttl_ms;
    this.locks = new Map();
    this.errors = 0; // of servers, in the present call
    this.servers = hello.nodes.map((node) => {
      const colon = node.lastIndexOf(':');
      const server = new Redis({
        host: node.slice(0, colon),
        port: Number(node.slice(colon + 1)),
        connectTimeout: answerLimit,
        commandTimeout: answerLimit,
        retryStrategy: () => 20,
        // Nothing is sent later than it was asked for, and nothing twice: a SET of yesterday would be a ghost.
        enableOfflineQueue: false,
        autoResendUnfulfilledCommands: false,
        maxRetriesPerRequest: 0,
      });
      server.on('error', () => {}); // a call that meets it says so
      return server;
    });
    // The tries are made here, so that each has its time, and the limit of a call is kept.
    this.redlock = new Redlock(this.servers, { retryCount: 0 });
    this.redlock.on('clientError', () => { this.errors++; });
  }

  // Waits for the first connections: without a queue a call would fail before.
  async connected() {
    for (const end = nowMs() + 5000; nowMs() < end && this.servers.some((s) => s.status !== 'ready');) await sleep(5);
    return this;
  }

  declare() {
    return {
      name: `redlock ${require('redlock/package.json').version} with ioredis ${require('ioredis/package.json').version}`,
      validity: 'library', // lock.expiration
      token: 'none',
      confirms: ['release', 'renew'], // a majority of servers has compared the value
    };
  }

  // left is for how long the library says that a lock is good.
  left(lock) { return Math.max(lock.expiration - Date.now(), 0); }

  async acquire(key, timeout) {
    const end = nowMs() + timeout;
    let first; // when the first try began that may have taken effect
    do {
      const began = nowNs();
      this.errors = 0;
      try {
        const lock = await this.redlock.lock(key, this.ttl);
        this.locks.set(key, lock);
        return { valid_for_ms: this.left(lock), attempt_ns: String(began), first_ns: String(first ?? began) };
      } catch (e) {
        // Each server has said no, or has given back what it had taken: unless one did not answer.
        if (!(e instanceof Redlock.LockError) || this.errors > 0) first ??= began;
      }
      await sleep(5 + Math.random() * 10);
    } while (nowMs() < end);
    if (first === undefined) throw new Failure('busy');
    throw Object.assign(new Error('a server did not answer'), { first: String(first) });
  }

  async release(key) {
    this.errors = 0;
    try {
      await this.redlock.unlock(this.locks.get(key));
    } catch (e) {
      if (e instanceof Redlock.LockError && this.errors === 0) throw new Failure('not_held');
      throw e;
    }
    return {};
  }

  async renew(key) {
    const began = nowNs();
    this.errors = 0;
    const lock = this.locks.get(key);
    try {
      await this.redlock.extend(lock, this.ttl);
    } catch (e) {
      if (e instanceof Redlock.LockError && this.errors === 0) throw new Failure('not_held');
      throw e;
    }
    return { valid_for_ms: this.left(lock), attempt_ns: String(began) };
  }

  async close() {
    for (const server of this.servers) server.disconnect();
  }
}

main((hello) => new Lock(hello).connected());
