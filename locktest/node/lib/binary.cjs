// The lockchaos command: where it is, and an exam by it as a stream of events (docs/schema/progress.json).
'use strict';
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

function runs(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

// The path of the command: $LOCKCHAOS_BIN, else that of the package for this machine, else one of $PATH.
function find() {
  const named = process.env.LOCKCHAOS_BIN;
  if (named) {
    if (runs(named)) return named;
    throw new Error(`LOCKCHAOS_BIN=${named} is no program that can be run`);
  }
  const machine = `@lockchaos/${process.platform}-${process.arch}`;
  const places = (process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, 'lockchaos'));
  try {
    places.unshift(require.resolve(`${machine}/bin/lockchaos`));
  } catch {
    // the package is optional
  }
  const found = places.find(runs);
  if (found) return found;
  throw new Error(`there is no lockchaos here: ${machine} is not installed, and it is not on PATH. Set LOCKCHAOS_BIN to its path `
    + "(it is built by `make build` in lockchaos's repository, and runs on Linux)");
}

const parsed = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));

// The attacks that an exam by these words would make, and those that it would not; or what this machine lacks.
function listed(words) {
  const done = spawnSync(find(), ['exam', ...words, '--dry-run', '--json'],
    { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8', maxBuffer: 1 << 26 });
  if (done.error) throw done.error;
  const events = parsed(done.stdout);
  const lacking = events.find((e) => e.event === 'lacking')?.text;
  if (!lacking && done.status !== 0) throw new Error(`lockchaos cannot examine the lock: ${done.stderr.trim() || `exit status ${done.status}`}`);
  return { lacking, attacks: events.filter((e) => e.event === 'attack') };
}

// How long a command may take to end, in milliseconds: it heals what it broke, and writes its report.
const patience = 30 * 1000;

// The commands that run. A test process that ends has them heal what they broke.
const running = new Set();
process.once('exit', () => { for (const child of running) child.kill('SIGINT'); });

// An exam of some attacks. told has, for each, a promise of what it comes to: its report is written by then.
class Exam {
  constructor(words, attacks) {
    this.open = new Map(); // what settles these promises
    this.told = new Map(attacks.map((a) => [a, new Promise((done, failed) => this.open.set(a, { done, failed }))]));
    for (const told of this.told.values()) told.catch(() => {}); // its test may never ask
    this.child = spawn(find(), ['exam', ...words, '--attack', attacks.join(','), '--json', '--no-mend'], { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(this.child);
    let said = '';
    this.child.stderr.setEncoding('utf8').on('data', (text) => { said = (said + text).slice(-4096); });
    readline.createInterface({ input: this.child.stdout }).on('line', (line) => {
      const event = JSON.parse(line);
      if (event.event === 'ended') this.settle(event.attack, 'done', event);
    });
    this.over = new Promise((done) => {
      this.child.once('error', (error) => done(error.message)).once('close', (status) => done(said.trim() || `exit status ${status}`));
    }).then((why) => {
      running.delete(this.child);
      for (const a of attacks) this.settle(a, 'failed', new Error(`lockchaos failed, which says nothing of the lock: ${why}`));
    });
  }

  settle(attack, how, value) {
    this.open.get(attack)?.[how](value);
    this.open.delete(attack);
  }

  // Ends what is left of the exam, and waits until nothing of it runs.
  async finish() {
    if (this.open.size > 0) this.child.kill('SIGINT');
    const hung = setTimeout(() => this.child.kill('SIGKILL'), patience);
    await this.over;
    clearTimeout(hung);
  }
}

module.exports = { Exam, find, listed };
