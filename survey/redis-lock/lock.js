// redis-lock (https://github.com/errorception/redis-lock) with node-redis 4, the version that its README asks for.
'use strict';
const { createClient } = require('redis');
const redisLock = require('redis-lock');
const { main, nowNs } = require('../../examples/node/protocol.js');
const { Breaks, hostPort, sinceLastTry, within } = require('../adapter.js');

const version = (name) => require(`${name}/package.json`).version;

class Lock {
  breaks = new Breaks();
  grants = new Map();

  async open(hello) {
    this.ttl = hello.ttl_ms;
    this.client = this.breaks.watch(createClient({ socket: hostPort(hello.nodes[0]) }));
    await this.client.connect();
    return this;
  }

  declare() {
    return {
      name: `redis-lock ${version('redis-lock')} with redis ${version('redis')}`,
      // "It's not possible for two functions to acquire the same lock at any point in time, except if the timeout is
      // breached."
      validity: 'from_invocation',
      token: 'none',
    };
  }

  async acquire(key, timeout) {
    const first = nowNs();
    const before = this.breaks.count;
    let began;
    let over = false;
    // The library waits for ever. A client that answers no more ends its loop when the time is over.
    const client = {
      v4: true,
      set: (...args) => {
        if (over) return new Promise(() => {});
        began = nowNs();
        return this.client.set(...args);
      },
      del: (name) => this.client.del(name),
    };
    try {
      this.grants.set(key, await within(redisLock(client)(key, this.ttl), timeout, (done) => done()));
    } catch (e) {
      throw Object.assign(e, { first });
    } finally {
      over = true;
    }
    return sinceLastTry(this.breaks.count === before ? { attempt_ns: String(began) } : {});
  }

  async release(key, timeout) {
    await within(this.grants.get(key)(), timeout);
    return {};
  }

  async close() {
    await this.client.disconnect();
  }
}

main((hello) => new Lock().open(hello));
