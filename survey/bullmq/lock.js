// The locks of BullMQ's jobs (https://docs.bullmq.io/patterns/manually-fetching-jobs). Each key is a queue with one job
// that never completes: who has fetched it holds the key, until it is moved back.
'use strict';
const { randomUUID } = require('node:crypto');
const { Queue, Worker } = require('bullmq');
const Redis = require('ioredis');
const { Failure, main, nowMs, nowNs, sleep } = require('../../examples/node/protocol.js');
const { Breaks, hostPort, within } = require('../adapter.js');

const version = (name) => require(`${name}/package.json`).version;
const lost = /missing lock|not in the active|lock mismatch/i; // how it says that the job is no longer ours

class Lock {
  breaks = new Breaks();
  queues = new Map();
  grants = new Map();

  constructor(hello) {
    this.ttl = hello.ttl_ms;
    // BullMQ asks for this of a worker's connection.
    this.connection = this.breaks.watch(new Redis({ ...hostPort(hello.nodes[0]), maxRetriesPerRequest: null }));
  }

  declare() {
    return {
      name: `BullMQ job lock ${version('bullmq')} with ioredis ${version('ioredis')}`,
      validity: 'from_invocation', // lockDuration
      token: 'none',
      confirms: ['release', 'renew'], // each compares the token
      abandons_ms: 4 * this.ttl, // a job is stalled when two checks have found it without a lock
    };
  }

  async open(key, timeout) {
    if (!this.queues.has(key)) {
      const { connection, ttl } = this;
      const queue = new Queue(key, { connection });
      const worker = new Worker(key, null, {
        connection, lockDuration: ttl, stalledInterval: ttl, maxStalledCount: 1e6, // the job is never given up
      });
      for (const part of [queue, worker]) part.on('error', (e) => console.error(`error: ${e}`));
      this.queues.set(key, { queue, worker });
      await within(queue.add('job', {}, { jobId: 'job' }), timeout); // the same id: it is added once
      await within(worker.startStalledCheckTimer(), timeout);
    }
    return this.queues.get(key);
  }

  async acquire(key, timeout) {
    const end = nowMs() + timeout;
    let began = nowNs();
    try {
      const { worker } = await this.open(key, timeout);
      for (; nowMs() < end; await sleep(20)) {
        const token = randomUUID();
        const before = this.breaks.count;
        began = nowNs();
        const job = await within(worker.getNextJob(token, { block: false }), end - nowMs() + 200,
          (late) => late?.moveToWait(token));
        if (job) {
          this.grants.set(key, { job, token });
          return { attempt_ns: String(began), first_ns: String(began) };
        }
        if (this.breaks.count !== before) throw new Error('no job, and a connection ended meanwhile');
      }
    } catch (e) {
      throw Object.assign(e, { first: began });
    }
    throw new Failure('busy'); // each try was answered: no job waits
  }

  async renew(key, timeout) {
    const grant = this.grants.get(key);
    if (!grant) throw new Failure('not_held');
    const began = nowNs();
    if (!await within(grant.job.extendLock(grant.token, this.ttl), timeout)) throw new Failure('not_held');
    return { attempt_ns: String(began) };
  }

  async release(key, timeout) {
    const grant = this.grants.get(key);
    if (!grant) throw new Failure('not_held');
    this.grants.delete(key);
    const before = this.breaks.count;
    try {
      await within(grant.job.moveToWait(grant.token), timeout);
    } catch (e) {
      if (lost.test(e.message) && this.breaks.count === before) throw new Failure('not_held');
      throw e;
    }
    return {};
  }

  async close() {
    this.connection.disconnect();
  }
}

process.on('unhandledRejection', (e) => console.error(`unhandled: ${e}`));

main((hello) => new Lock(hello));
