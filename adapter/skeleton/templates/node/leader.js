// An adapter: a candidate for leadership in Node that lockchaos can test.
//
// lockchaos starts this program once for every replica, and speaks JSON lines with it: a request on standard input, its
// reply on standard output. The candidate stands for election by itself, and prints events that tell of its terms.
// lockchaos does the leader's work. See docs/protocol.md#candidates-for-leadership.
//
// As it stands this is a complete election on one Redis server, without any library: a key with an expiry, which the
// leader renews. Put your own in its place in the class Candidate, and say in `declare` what it promises.
//
//     lockchaos adapter test "node leader.js" --kind leader --service redis      what is missing or wrong, with the exchange that shows it
//     lockchaos exam --leader-cmd "node leader.js" --service redis
'use strict';
const crypto = require('node:crypto');
const net = require('node:net');
const readline = require('node:readline');

// The clock that all processes of the machine share, in ns. Take stamps from this one only. They go as strings: a double
// does not hold them all.
const nowNs = () => process.hrtime.bigint();
const nowMs = () => Number(nowNs()) / 1e6;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Your election. One value is one replica.
class Candidate {
  constructor(hello) {
    this.ttl = hello.ttl_ms; // how long a lease or session is to last
    this.client = hello.client; // "c3": for values that a human can read in the service
    this.redis = new Redis(hello.nodes[0]); // the service's addresses, "10.88.0.2:6379"
  }

  // What may be concluded from the events. A claim that you do not make is not held against the election.
  declare() {
    return {
      name: 'my-election 0.1', // with its version: it stands in the report
      leader: true,
      validity: 'session', // a term lasts until its loss is told. Leave it out for no claim.
      // Within which time a loss is told: the pause between two renewals, and the time that it takes to be heard.
      lost_grace_ms: Math.ceil(this.ttl / 3) + 500,
    };
  }

  // Stands for election again and again.
  async run() {
    for (;;) {
      const value = `${this.client}-${crypto.randomBytes(8).toString('hex')}`; // one for each term
      const stamp = nowNs();
      const until = nowMs() + this.ttl;
      if (await this.ask(TAKE, value, until) === 1 && nowMs() < until) await this.lead(value, stamp, until);
      await sleep(this.ttl / 20); // after a term, too: others are to have a chance
    }
  }

  // stamp: just before the request was sent that won the election. until: the end of the lease, by this machine's clock.
  async lead(value, stamp, until) {
    const term = new Work({ attempt_ns: String(stamp) });
    while (nowMs() < until) {
      if (await term.wait(Math.min(until - nowMs(), this.ttl / 3))) { // the work is over: an orderly stop
        await this.ask(FREE, value, until);
        term.done();
        return;
      }
      const asked = nowMs();
      const kept = await this.ask(EXTEND, value, until);
      if (kept === 0) break;
      if (kept === 1 && nowMs() < until) until = asked + this.ttl;
    }
    term.lost('the lease is over');
  }

  // 1 or 0 as the service says, before that instant; null: it has not answered.
  async ask(script, value, until) {
    try {
      return await this.redis.eval(script, ['leader'], [value, this.ttl], until);
    } catch (e) {
      console.error(`${this.client}:`, e);
      return null;
    }
  }
}

const TAKE = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0`;
const EXTEND = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;
const FREE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

INCLUDE redis.js

INCLUDE events.js

main((hello) => new Candidate(hello));
