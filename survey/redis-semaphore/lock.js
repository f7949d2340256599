// redis-semaphore (https://github.com/swarthy/redis-semaphore) with ioredis: Mutex, RedlockMutex or Semaphore.
//
//     node lock.js [Mutex|RedlockMutex|Semaphore] [lease]
//
// With "lease" it does not refresh (refreshInterval: 0), and a grant is good for its lockTimeout.
'use strict';
const Redis = require('ioredis');
const library = require('redis-semaphore');
const { Failure, main, nowNs, send } = require('../../examples/node/protocol.js');
const { Breaks, hostPort, sinceLastTry, within } = require('../adapter.js');

const kind = process.argv[2] ?? 'Mutex';
const refreshes = process.argv[3] !== 'lease';
const permits = 2; // of the semaphore
const version = (name) => require(`${name}/package.json`).version;

class Lock {
  breaks = new Breaks();
  grants = new Map();
  began = 0n; // when the last request for a key was made

  constructor(hello) {
    this.ttl = hello.ttl_ms;
    this.clients = hello.nodes.map((node) => this.noting(this.breaks.watch(new Redis(hostPort(node)))));
  }

  // Has the client note when it takes a key: a mutex with SET, a semaphore with a script.
  noting(client) {
    for (const command of ['set', 'evalsha', 'eval']) {
      const call = client[command].bind(client);
      client[command] = (...args) => {
        this.began = nowNs();
        return call(...args);
      };
    }
    return client;
  }

  declare() {
    const name = `redis-semaphore ${kind} ${version('redis-semaphore')} with ioredis ${version('ioredis')}`;
    // refreshInterval, one refresh, and the time to tell of it
    const watched = { name, validity: 'session', lost_grace_ms: Math.round(0.8 * this.ttl) + 1200 };
    return {
      ...(refreshes ? watched : { name: `${name} without refresh`, validity: 'from_invocation' }),
      token: 'none',
      ...(kind === 'RedlockMutex' && { tolerates: 'minority' }), // its README: the Redlock algorithm, independent nodes
      ...(kind === 'Semaphore' && { permits }),
    };
  }

  make(key, timeout) {
    const lock = {};
    const options = {
      lockTimeout: this.ttl,
      acquireTimeout: timeout,
      ...(!refreshes && { refreshInterval: 0 }),
      onLockLost: () => {
        if (this.grants.get(key) === lock.mutex) send({ event: 'lost', key, why: 'onLockLost' });
      },
    };
    switch (kind) {
      case 'RedlockMutex': return (lock.mutex = new library.RedlockMutex(this.clients, key, options));
      case 'Semaphore': return (lock.mutex = new library.Semaphore(this.clients[0], key, permits, options));
      default: return (lock.mutex = new library.Mutex(this.clients[0], key, options));
    }
  }

  async acquire(key, timeout) {
    const first = nowNs();
    const before = this.breaks.count;
    const mutex = this.make(key, timeout);
    try {
      const got = await within(mutex.tryAcquire(), timeout + 500, () => mutex.release());
      if (!got && this.breaks.count === before) throw new Failure('busy'); // every request was answered, with no
      if (!got) throw new Error('false, and a connection ended meanwhile');
    } catch (e) {
      throw e instanceof Failure ? e : Object.assign(e, { first });
    }
    this.grants.set(key, mutex);
    return sinceLastTry(this.breaks.count === before ? { attempt_ns: String(this.began) } : {});
  }

  async release(key, timeout) {
    const mutex = this.grants.get(key);
    this.grants.delete(key);
    await within(mutex.release(), timeout);
    return {};
  }

  async close() {
    for (const client of this.clients) client.disconnect();
  }
}

// A refresh that fails rejects within a timer of the library. Unhandled, that would end the process.
process.on('unhandledRejection', (e) => console.error(`unhandled: ${e}`));

main((hello) => new Lock(hello));
