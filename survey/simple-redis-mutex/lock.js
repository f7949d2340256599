// simple-redis-mutex (https://github.com/AmrSaber/simple-redis-mutex) with node-redis.
'use strict';
const { createClient } = require('redis');
const { lock } = require('simple-redis-mutex');
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
    const set = this.client.set.bind(this.client);
    this.client.set = async (...args) => {
      const began = nowNs();
      const answer = await set(...args);
      if (answer === 'OK') this.began = began; // it polls while an earlier request is under way
      return answer;
    };
    return this;
  }

  declare() {
    return {
      name: `simple-redis-mutex ${version('simple-redis-mutex')} with redis ${version('redis')}`,
      validity: 'from_invocation', // timeout
      token: 'fencing', // release.fencingToken
    };
  }

  async acquire(key, timeout) {
    const first = nowNs();
    const before = this.breaks.count;
    // By default it polls after a third of its timeout: 10 s of 30 s.
    const options = { timeout: this.ttl, pollingInterval: Math.round(this.ttl / 3), failAfter: timeout };
    try {
      const release = await within(lock(this.client, key, options), timeout + 500, (r) => r());
      this.grants.set(key, release);
      const stamp = this.breaks.count === before && { attempt_ns: String(this.began) };
      return sinceLastTry({ token: release.fencingToken, ...stamp });
    } catch (e) {
      throw Object.assign(e, { first }); // it says only that it failed
    }
  }

  async release(key, timeout) {
    await within(this.grants.get(key)(), timeout);
    return {};
  }

  async close() {
    this.client.destroy();
  }
}

// lock() leaves the failure of a try unhandled, which ends the process.
process.on('unhandledRejection', (e) => console.error(`unhandled: ${e}`));

main((hello) => new Lock().open(hello));
