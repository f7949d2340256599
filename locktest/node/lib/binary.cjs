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

// The commands that run. A test process that ends has them heal what they broke.
const running = new Set();
process.once('exit', () => { for (const child of running) child.kill('SIGINT'); });

// Makes one attack, and returns what it came to. The report is written by then.
async function attack(words) {
  const child = spawn(find(), ['exam', ...words, '--json', '--no-mend'], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => { said = (said + text).slice(-4096); });
  const over = new Promise((done, failed) => child.once('error', failed).once('close', done));
  let ended;
  readline.createInterface({ input: child.stdout }).on('line', (line) => {
    const event = JSON.parse(line);
    if (event.event === 'ended') ended = event;
  });
  const status = await over.finally(() => running.delete(child));
  if (!ended) throw new Error(`lockchaos failed, which says nothing of the lock: ${said.trim() || `exit status ${status}`}`);
  return ended;
}

module.exports = { attack, find, listed };
