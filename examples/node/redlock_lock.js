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

// Without a limit a command waits for as long as the network does.
const answerLimit = 300;
// The library's own pause between two tries, in ms: retryDelay, of its defaults.
const retryDelay = 200;

// Redlock as it is, which notes when its tries began. What is tried, and how often, is the library's own.
class Stamped extends Redlock {
  _executeScript(server, name, args, callback) {
    if (name === 'lockScript' && server === this.servers[0]) this.tried(); // each try asks the servers in their order
    return super._executeScript(server, name, args, callback);
  }
}

class Lock {
  constructor(hello) {
    this.ttl = hello.ttl_ms;
    this.locks = new Map();
    this.unanswered = 0; // how often a server did not answer, or ioredis may have sent a command twice
    this.servers = hello.nodes.map((node) => {
      const colon = node.lastIndexOf(':');
      // ioredis queues what it can't send, and sends again what was not answered: as its users have it.
      const server = new Redis({
        host: node.slice(0, colon),
        port: Number(node.slice(colon + 1)),
        connectTimeout: answerLimit,
        commandTimeout: answerLimit,
      });
      server.on('error', () => {}); // a call that meets it says so
      server.on('close', () => { this.unanswered++; });
      return server;
    });
    this.redlock = new Stamped(this.servers, { retryCount: 0, retryDelay }); // how often it tries depends on each call's time
    this.redlock.on('clientError', () => { this.unanswered++; });
  }

  // Waits for the first connections, so that the first call is like the others.
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

  // For how long the library says that a lock is good, counted from the start of the attempt. The clock is read before the
  // library's word, so that a stop in between makes it shorter, never longer.
  validFor(lock, began) {
    const passed = Number(nowNs() - began) / 1e6;
    const left = lock.expiration - Date.now();
    return left > 0 ? passed + left : left; // what is over is over
  }

  async acquire(key, timeout) {
    let began, first; // of the last try; of the first one that may have taken effect
    let before = this.unanswered;
    this.redlock.tried = () => {
      // Each server has said no to the try before, or has given back what it had taken: unless one did not answer.
      if (this.unanswered > before) first ??= began;
      before = this.unanswered;
      began = nowNs();
    };
    try {
      const lock = await this.redlock.lockWithOptions(key, this.ttl, { retryCount: Math.floor(timeout / retryDelay) });
      this.locks.set(key, lock);
      // A majority of servers has found the key free, and taken it, in the last try: the grant is no older than that.
      return { valid_for_ms: this.validFor(lock, began), attempt_ns: String(began), first_ns: String(began) };
    } catch (e) {
      if (!(e instanceof Redlock.LockError) || this.unanswered > before) first ??= began;
      if (first === undefined) throw new Failure('busy');
      throw Object.assign(new Error('a server did not answer'), { first: String(first) });
    }
  }

  async release(key) {
    const before = this.unanswered;
    try {
      await this.redlock.unlock(this.locks.get(key));
    } catch (e) {
      if (e instanceof Redlock.LockError && this.unanswered === before) throw new Failure('not_held');
      throw e;
    }
    return {};
  }

  async renew(key) {
    const began = nowNs();
    const before = this.unanswered;
    const lock = this.locks.get(key);
    try {
      await this.redlock.extend(lock, this.ttl);
    } catch (e) {
      if (e instanceof Redlock.LockError && this.unanswered === before) throw new Failure('not_held');
      throw e;
    }
    return { valid_for_ms: this.validFor(lock, began), attempt_ns: String(began) };
  }

  async close() {
    for (const server of this.servers) server.disconnect();
  }
}

main((hello) => new Lock(hello).connected());
