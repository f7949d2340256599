// proper-lockfile (https://github.com/moxystudio/node-proper-lockfile), on files in a folder that all clients share.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const lockfile = require('proper-lockfile');
const { Failure, main, nowMs, nowNs, send, sleep } = require('../../examples/node/protocol.js');

class Lock {
  grants = new Map();

  constructor(hello) {
    this.dir = hello.dir;
    this.stale = Math.max(hello.ttl_ms, 2000); // the least that it takes
    this.update = Math.max(this.stale / 2, 1000); // its default
  }

  declare() {
    return {
      name: `proper-lockfile ${require('proper-lockfile/package.json').version}`,
      validity: 'session', // until onCompromised: it keeps the lock fresh
      token: 'none',
      lost_grace_ms: this.update + 300, // it looks at each update
    };
  }

  // Its default is not to try again: it is asked again until the time is over.
  async acquire(key, timeout) {
    const file = path.join(this.dir, key);
    fs.closeSync(fs.openSync(file, 'a')); // what is locked must exist
    const onCompromised = (e) => {
      if (this.grants.delete(key)) send({ event: 'lost', key, why: String(e) });
    };
    for (const end = nowMs() + timeout; nowMs() < end; await sleep(20)) {
      const began = nowNs();
      try {
        const release = await lockfile.lock(file, { stale: this.stale, update: this.update, onCompromised });
        this.grants.set(key, release);
        return { attempt_ns: String(began), first_ns: String(began) };
      } catch (e) {
        if (e.code !== 'ELOCKED') throw Object.assign(e, { first: began });
      }
    }
    throw new Failure('busy'); // each try found it locked
  }

  async release(key) {
    const release = this.grants.get(key);
    if (!release) throw new Failure('not_held'); // onCompromised has said so
    this.grants.delete(key);
    await release();
    return {};
  }

  async close() {}
}

main((hello) => new Lock(hello));
