// An adapter: an instance of a scheduler in Node that lockchaos can test.
//
// lockchaos starts this program once for every instance, and speaks JSON lines with it: a request on standard input, its
// reply on standard output. The instance decides by itself when it executes the job, and prints events that tell of it.
// lockchaos does the job's work. See docs/protocol.md#instances-of-a-scheduler.
//
// As it stands this is a complete scheduler on one Redis server, without any library: SET NX PX, with a key for each
// tick. Put your own scheduler in its place in the class Instance, and say in `declare` what it promises.
//
//     lockchaos adapter test "node job.js" --kind job --service redis      what is missing or wrong, with the exchange that shows it
//     lockchaos exam --job-cmd "node job.js" --service redis
'use strict';
const crypto = require('node:crypto');
const net = require('node:net');
const readline = require('node:readline');

// The clock that all processes of the machine share, in ns. Take stamps from this one only. They go as strings: a double
// does not hold them all.
const nowNs = () => process.hrtime.bigint();
const nowMs = () => Number(nowNs() / 1000000n);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const MEMORY_MS = 300000; // for how long a tick is remembered: far longer than clocks differ

// Your scheduler. One value is one instance.
class Instance {
  constructor(hello) {
    // The job is due whenever the wall clock shows a whole multiple of this, in ms since 1970.
    this.every = hello.every_ms;
    // hello.ttl_ms is how long an execution is to be an instance's own, for a scheduler with leases.
    this.client = hello.client; // "c3": for values that a human can read in the service
    this.redis = new Redis(hello.nodes[0]); // the service's addresses, "10.88.0.2:6379"
  }

  // What may be concluded from the events. A claim that you do not make is not held against the scheduler.
  declare() {
    return {
      name: 'my-scheduler 0.1', // with its version: it stands in the report
      // at-most-once: no tick is executed twice. at-least-once: one is executed again only when its first instance has
      // lost it.
      job: 'at-most-once',
      overlap: true, // two executions may run at a time. Leave it out for no.
      // What becomes of a tick that no instance could execute in time: skip, once or all. Leave it out for no claim.
      misfire: 'skip',
      handover_ms: 1500, // how long after the death of an instance a tick may find no other one
    };
  }

  // Executes the job again and again. Begin with the first tick after the hello.
  async run() {
    for (let last = this.due(); ;) {
      const tick = this.due();
      if (tick <= last) {
        await sleep(5);
        continue;
      }
      last = tick;
      const began = nowNs();
      let claimed = 0;
      try {
        claimed = await this.redis.eval(CLAIM, [`cron:${tick}`], [this.client, MEMORY_MS], nowMs() + 1000);
      } catch (e) {
        // No answer: the tick may be claimed. Nobody will know, so it is lost.
        console.error(`claim tick ${tick}:`, e);
      }
      if (claimed) await this.execute(tick, began);
    }
  }

  // The latest tick that was due, in ms since 1970.
  due() {
    return Math.floor(Date.now() / this.every) * this.every;
  }

  // began: just before the request was sent that claimed the tick. Leave out what you do not know.
  async execute(tick, began) {
    const work = new Work({ tick, attempt_ns: String(began) });
    await work.wait(); // lockchaos works now
    try {
      await this.redis.eval(MARK, [`cron:${tick}`], [`done by ${this.client}`], nowMs() + 1000);
    } catch (e) {
      console.error(`mark tick ${tick}:`, e);
      return; // nobody knows whether it is marked as done, so say nothing
    }
    work.done();
    // A scheduler that finds that it has lost the execution says: work.lost('the lease was over')
  }
}

const CLAIM = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`;
const MARK = `if redis.call('SET', KEYS[1], ARGV[1], 'XX', 'KEEPTTL') then return 1 end return 0`;

INCLUDE redis.js

INCLUDE events.js

main((hello) => new Instance(hello));
