// A lock with ioredis, examined: see README.md.
//
// To see it fall, let release be (key) => redis.del(key), which frees the key of whoever has it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { examine } from '@lockchaos/test';
import Redis from 'ioredis';

const free = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

class OrderLock {
  constructor(node, ttl) {
    const [host, port] = node.split(':');
    this.redis = new Redis({ host, port: Number(port), commandTimeout: 1000, maxRetriesPerRequest: 0 });
    this.redis.on('error', () => {}); // a call that meets it says so
    this.ttl = ttl;
    this.values = new Map();
  }

  async acquire(key, timeout) {
    const value = randomUUID();
    const end = performance.now() + timeout;
    while (await this.redis.set(key, value, 'PX', this.ttl, 'NX') !== 'OK') {
      if (performance.now() > end) return false;
      await sleep(10);
    }
    this.values.set(key, value);
    return true;
  }

  async release(key) {
    return await this.redis.eval(free, 1, key, this.values.get(key) ?? '') === 1;
  }

  close() { this.redis.disconnect(); }
}

examine('orders', {
  service: 'redis',
  validity: 'from_invocation', // SET NX PX: the lease counts from the request
  confirms: ['release'], // it compares the value that the key has
  attacks: ['nothing-work', 'stop-work', 'stop-release', 'kill-work'], // leave it out for all
}, ({ nodes, ttl }) => new OrderLock(nodes[0], ttl));
