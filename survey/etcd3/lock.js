// The lock of etcd3 for Node (https://github.com/microsoft/etcd3).
'use strict';
const { Etcd3, EtcdLockFailedError } = require('etcd3');
const { Failure, main, nowMs, nowNs, sleep } = require('../../examples/node/protocol.js');
const { within } = require('../adapter.js');

class Lock {
  grants = new Map();

  constructor(hello) {
    this.ttl = Math.ceil(hello.ttl_ms / 1000);
    this.client = new Etcd3({ hosts: hello.nodes.map((node) => `http://${node}`) });
  }

  declare() {
    return {
      name: `etcd3 ${require('etcd3/package.json').version}`,
      validity: 'session', // its lease is kept alive until the release
      token: 'none',
      sessions: true, // leaseId
    };
  }

  // acquire does not wait: it is asked again until the time is over.
  async acquire(key, timeout) {
    const first = nowNs();
    for (const end = nowMs() + timeout; nowMs() < end; await sleep(50)) {
      const lock = this.client.lock(`lockchaos/${key}`).ttl(this.ttl).options({ deadline: Date.now() + end - nowMs() });
      const began = nowNs();
      try {
        await within(lock.acquire(), end - nowMs() + 500, () => lock.release());
        this.grants.set(key, lock);
        return { session: await lock.leaseId(), attempt_ns: String(began), first_ns: String(began) };
      } catch (e) {
        if (!(e instanceof EtcdLockFailedError)) throw Object.assign(e, { first });
      }
    }
    throw new Failure('busy'); // each try was answered: the key was there
  }

  async release(key, timeout) {
    await within(this.grants.get(key).options({ deadline: Date.now() + timeout }).release(), timeout);
    return {};
  }

  async close() {
    this.client.close();
  }
}

main((hello) => new Lock(hello));
