// pg-boss (https://timgit.github.io/pg-boss/): a queue of the policy "singleton" has one active job at most. Who has
// fetched that holds the key, until it completes the job.
import { createRequire } from 'node:module';
import { PgBoss } from 'pg-boss';

const require = createRequire(import.meta.url);
const { Failure, main, nowMs, nowNs, sleep } = require('../../examples/node/protocol.js');
const { within } = require('../adapter.js');

class Lock {
  grants = new Map();
  queues = new Set();

  constructor(hello) {
    this.ttl = Math.ceil(hello.ttl_ms / 1000); // s: it takes no less than one
    this.boss = new PgBoss({
      connectionString: `postgres://lockchaos@${hello.nodes[0]}/postgres`,
      superviseIntervalSeconds: 1, // how often it looks for jobs that have expired
      monitorIntervalSeconds: 1,
    });
    this.boss.on('error', (e) => console.error(`error: ${e}`));
  }

  declare() {
    return {
      name: `pg-boss ${require('pg-boss/package.json').version}, singleton`,
      validity: 'from_invocation', // expireInSeconds
      token: 'none',
      abandons_ms: this.ttl * 1000 + 3000, // an expired job is found by the next look
    };
  }

  async open(key) {
    if (this.queues.has(key)) return;
    const options = { policy: 'singleton', expireInSeconds: this.ttl, retryLimit: 0 };
    await this.boss.createQueue(key, options);
    this.queues.add(key);
  }

  async acquire(key, timeout) {
    const end = nowMs() + timeout;
    let began = nowNs();
    try {
      await within(this.open(key), timeout);
      await within(this.boss.send(key, {}), timeout); // one more of those that wait: any of them will do
      for (; nowMs() < end; await sleep(50)) {
        began = nowNs();
        const giveBack = ([late]) => late && this.boss.complete(key, late.id);
        const [job] = await within(this.boss.fetch(key), end - nowMs() + 200, giveBack);
        if (job) {
          this.grants.set(key, job.id);
          return { attempt_ns: String(began), first_ns: String(began) };
        }
      }
    } catch (e) {
      throw Object.assign(e, { first: began });
    }
    throw new Failure('busy'); // each try was answered: another job is active
  }

  async release(key, timeout) {
    const id = this.grants.get(key);
    if (!id) throw new Failure('not_held');
    this.grants.delete(key);
    await within(this.boss.complete(key, id), timeout);
    return {};
  }

  async close() {
    await within(this.boss.stop({ graceful: false }), 2000);
  }
}

main(async (hello) => {
  const lock = new Lock(hello);
  await lock.boss.start();
  return lock;
});
