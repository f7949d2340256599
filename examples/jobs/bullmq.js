// A job scheduler of BullMQ on Redis, as an adapter of kind job for lockchaos. It is one worker of it.
//
//     npm ci --prefix examples/node
//     lockchaos exam --job-cmd "node examples/jobs/bullmq.js" --service redis
//
// lockchaos does the work of the job between the events run and done. BullMQ promises that a job is
// executed at least once: a worker owns it for lockDuration, and renews that while it works. A job
// whose lock has ended is stalled. Another worker executes it again.
// docs/protocol.md#instances-of-a-scheduler is the protocol.
'use strict';
const path = require('node:path');
const readline = require('node:readline');
const { createRequire } = require('node:module');
const { nowNs, send, sleep } = require('../node/protocol.js');

const modules = createRequire(path.join(__dirname, '..', 'node', 'package.json'));
const { Queue, Worker } = modules('bullmq');

const MARGIN_MS = 100; // for how long the request may take that makes the job scheduler
const PATIENCE_MS = 3000; // for Redis at the start: an instance that starts again may find it away

class Instance {
  constructor(hello) {
    const [, host, port] = /^(.*):(\d+)$/.exec(hello.nodes[0]);
    this.connection = { host, port: Number(port), maxRetriesPerRequest: null };
    this.every = hello.every_ms;
    this.lease = hello.ttl_ms; // how long a worker owns a job without a renewal
    this.name = hello.client;
    this.count = 0;
    this.runs = new Map(); // the execution of each job that this worker executes
    this.go = new Map(); // what ends the work of each execution
  }

  declare() {
    return {
      name: `BullMQ ${modules('bullmq/package.json').version}`,
      job: 'at-least-once',
      overlap: true, // the next job is made when a worker begins this one
      misfire: 'once', // a job that is late is executed, and the ticks that passed meanwhile are not
      // One look for stalled jobs must see the job, and a later one find that its lock has ended.
      handover_ms: 3 * this.lease + 1000,
    };
  }

  // Makes the job scheduler, or finds the one that another worker made. After it the job is due at
  // every whole multiple of the period.
  async prepare() {
    const queue = new Queue('cron', { connection: this.connection });
    queue.on('error', (e) => this.report(e));
    await queue.waitUntilReady();
    // A start that is over when Redis hears of it is taken for now, and all ticks are that late.
    const startDate = Math.ceil((Date.now() + MARGIN_MS) / this.every) * this.every;
    await queue.upsertJobScheduler('job', { every: this.every, startDate });
    await sleep(startDate - this.every - Date.now());
  }

  start() {
    const worker = new Worker('cron', (job) => this.execute(job), {
      connection: this.connection,
      // In the proportions of BullMQ's defaults: 30 s, 30 s, 15 s, and 5 s, which is given in s.
      lockDuration: this.lease,
      stalledInterval: this.lease,
      runRetryDelay: this.lease / 2,
      drainDelay: this.lease / 6000,
    });
    worker.on('error', (e) => this.report(e));
    worker.on('completed', (job) => this.ends(job.id, { event: 'done' }));
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.ends(id, { event: 'lost', why: 'the lock could not be renewed' });
    });
  }

  report(e) {
    console.error(`${this.name}: ${e}`);
  }

  // The processor: the job's work is lockchaos's.
  async execute(job) {
    const run = `${this.name}-${this.count += 1}`;
    this.runs.set(job.id, run);
    const over = new Promise((resolve) => this.go.set(run, resolve));
    // The worker sent processedOn, in ms, with the request that took the job.
    const ago = BigInt(Math.max(Date.now() - job.processedOn, 0) + 1) * 1000000n;
    const tick = Number(job.id.split(':').at(-1));
    send({ event: 'run', run, tick, attempt_ns: String(nowNs() - ago) });
    await over;
    this.go.delete(run);
  }

  ends(id, event) {
    const run = this.runs.get(id);
    if (run === undefined) return;
    this.runs.delete(id);
    send({ ...event, run });
  }
}

async function main() {
  let instance;
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let reply = { ok: true };
    if (request.op === 'hello') {
      instance = new Instance(request);
      await Promise.race([instance.prepare().catch((e) => instance.report(e)), sleep(PATIENCE_MS)]);
      reply = { ...reply, ...instance.declare() };
    } else if (request.op === 'go') {
      const over = instance.go.get(request.run);
      if (over) over();
      else reply = { ok: false, error: 'not_held' };
    } else if (request.op !== 'close') {
      reply = { ok: false, error: 'unsupported' };
    }
    send({ id: request.id, ...reply });
    if (request.op === 'hello') instance.start();
  }
  process.exit(0);
}

main();
