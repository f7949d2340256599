// What follows speaks the protocol; it can stay as it is.

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const going = new Map(); // those whose work is not over

// An execution of a job, or a term of a leader, which begins. What is done in it is lockchaos's.
class Work {
  constructor(more) {
    this.run = crypto.randomBytes(8).toString('hex');
    this.over = new Promise((done) => { this.end = () => done(true); });
    going.set(this.run, this);
    send({ event: 'run', run: this.run, ...more });
  }

  // Waits until the work is over, for so many ms at most. Resolves to whether it is.
  wait(ms) {
    if (ms === undefined) return this.over;
    let timer;
    const late = new Promise((done) => { timer = setTimeout(() => done(false), ms); });
    return Promise.race([this.over, late]).finally(() => clearTimeout(timer));
  }

  // Tells that it is marked as done, or that the leader has stepped down.
  done() {
    going.delete(this.run);
    send({ event: 'done', run: this.run });
  }

  // Tells that it is no longer this client's.
  lost(why) {
    going.delete(this.run);
    send({ event: 'lost', run: this.run, why });
  }
}

async function main(make) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    const work = going.get(request.run);
    let mine;
    let reply = { ok: true };
    if (request.op === 'hello') {
      mine = make(request);
      reply = { ok: true, ...mine.declare() };
    } else if (request.op === 'go' && !work) {
      reply = { ok: false, error: 'not_held' }; // there is no such one any more
    } else if (!['go', 'close'].includes(request.op)) {
      reply = { ok: false, error: 'unsupported' };
    }
    send({ id: request.id, ...reply });
    if (work) {
      going.delete(request.run);
      work.end();
    }
    mine?.run();
  }
  process.exit(0); // open connections would keep the process alive
}
