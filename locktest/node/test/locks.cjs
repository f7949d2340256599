// The locks of the conformance suite, for Node: see ../../frontends_test.go for what each comes to. No library: a test of
// the frontend tests nothing else.
'use strict';
const net = require('node:net');
const crypto = require('node:crypto');

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const free = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

// One connection, which is made anew when a call failed: a late answer must not be taken for the next one.
class Redis {
  constructor(node) {
    const colon = node.lastIndexOf(':');
    this.address = { host: node.slice(0, colon), port: Number(node.slice(colon + 1)) };
  }

  ask(...words) {
    return new Promise((done, failed) => {
      const socket = this.socket ??= net.connect(this.address);
      const fail = (error) => { socket.destroy(); this.socket = undefined; failed(error); };
      let answer = '';
      socket.removeAllListeners();
      socket.setTimeout(1000, () => fail(new Error('no answer')));
      socket.on('error', fail).on('close', () => fail(new Error('closed'))).on('data', (data) => {
        answer += data;
        if (answer.endsWith('\r\n')) done(answer.trim());
      });
      socket.write(`*${words.length}\r\n${words.map((w) => `$${Buffer.byteLength(String(w))}\r\n${w}\r\n`).join('')}`);
    });
  }
}

// SET NX PX, and a release that compares.
class Correct {
  constructor({ nodes, ttl }) {
    Object.assign(this, { redis: new Redis(nodes[0]), ttl, values: new Map() });
  }

  async take(key, value) { return await this.redis.ask('SET', key, value, 'NX', 'PX', this.ttl) === '+OK'; }

  async acquire(key, timeout) {
    const end = performance.now() + timeout;
    const value = crypto.randomBytes(8).toString('hex');
    while (!await this.take(key, value)) {
      if (performance.now() + 10 > end) return false; // each request was answered, or it had raised
      await sleep(10);
    }
    this.values.set(key, value);
    return true;
  }

  async release(key) {
    const value = this.values.get(key) ?? '';
    this.values.delete(key);
    return await this.redis.ask('EVAL', free, 1, key, value) === ':1';
  }
}

// Frees the key, whoever has it.
class Careless extends Correct {
  async release(key) { await this.redis.ask('DEL', key); }
}

// Has no expiry.
class Forever extends Correct {
  async take(key, value) { return await this.redis.ask('SET', key, value, 'NX') === '+OK'; }
}

// Refuses nobody.
class Anyone extends Correct {
  async take() { return true; }
}

const claims = { service: 'redis', validity: 'from_invocation', confirms: ['release'], busy: false };

module.exports = { Anyone, Careless, Correct, Forever, claims };
