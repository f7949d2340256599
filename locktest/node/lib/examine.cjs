// Makes tests of the attacks on a lock: of Vitest, of Jest, or of node:test.
'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { fileURLToPath } = require('node:url');
const binary = require('./binary.cjs');

class Busy extends Error {}
class NotHeld extends Error {}

// Where the adapter finds the locks of a test file. It is there only in an adapter's process.
const registry = Symbol.for('lockchaos.locks');
const adapting = () => globalThis[registry] !== undefined;

// The claims of a hello (docs/protocol.md), by the protocol's own words.
const claims = ['name', 'validity', 'token', 'confirms', 'can', 'lost_grace_ms', 'notices', 'tolerates', 'abandons_ms', 'lease_ms',
  'fair', 'permits', 'permits_per_acquire', 'multi_key', 'no_expiry', 'reentrant', 'read_write'];
const settings = ['service', 'ttl', 'attacks', 'short', 'budget', 'inherent', 'busy', 'notHeld', 'file'];

const inherent = 'fell: inherent';
const harmless = ['stood', 'fell: what it relies on broke', inherent];
// An attack lasts for as long as lockchaos has it last, and its tries too: a test's own limit is for what hangs.
const limit = 30 * 60 * 1000;

const several = (value) => (Array.isArray(value) ? value : [value]);
const shell = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// The file that called examine: the first on the stack that is not of this package.
function caller() {
  const prepare = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName());
  const files = new Error().stack;
  Error.prepareStackTrace = prepare;
  const here = path.dirname(__dirname) + path.sep;
  return files.map((f) => (f?.startsWith('file:') ? fileURLToPath(f) : f)).find((f) => f && path.isAbsolute(f) && !f.startsWith(here));
}

function check(name, options, open) {
  if (typeof name !== 'string' || typeof options?.service !== 'string' || typeof open !== 'function') {
    throw new TypeError("examine(name, {service: 'redis', …}, ({nodes, ttl}) => lock): see docs/frameworks.md of lockchaos");
  }
  for (const word of Object.keys(options)) {
    if (!claims.includes(word) && !settings.includes(word)) {
      throw new TypeError(`examine: there is no option ${JSON.stringify(word)} (there are ${[...settings, ...claims].join(', ')})`);
    }
  }
}

// The words of `lockchaos exam` that say which lock it is.
function words(name, options) {
  const file = options.file ? (String(options.file).startsWith('file:') ? fileURLToPath(options.file) : path.resolve(options.file)) : caller();
  const adapter = [process.execPath, path.join(__dirname, 'adapter.cjs'), file, name].map(shell).join(' ');
  const ttl = options.ttl === undefined ? [] : ['--ttl', `${options.ttl}ms`];
  return { file, words: ['--lock-cmd', adapter, '--service', options.service, ...ttl] };
}

// The attacks to make a test of: those that are named, else those that make sense.
function chosen(events, options) {
  const named = process.env.LOCKCHAOS_ATTACKS?.split(',') ?? (options.attacks && several(options.attacks));
  if (!named) return events.filter((e) => e.scenario !== undefined || e.fix !== undefined);
  const unknown = named.find((n) => !events.some((e) => e.attack === n));
  if (unknown) throw new Error(`there is no attack ${JSON.stringify(unknown)} (lockchaos exam --dry-run lists them; docs/exam.md explains them)`);
  return events.filter((e) => named.includes(e.attack));
}

class LockFell extends Error {
  constructor(message) {
    super(message);
    this.name = 'LockFell';
    this.stack = message; // where in this package it is thrown tells nobody anything
  }
}

// What a framework prints of an attack that failed its test.
function story(name, about, ended, again) {
  const lines = [`${name}: ${ended.told}`, `attack ${ended.attack}: ${about}`];
  if (ended.shortest?.length) lines.push('', ...ended.shortest, '');
  if (ended.report) lines.push(`report: ${ended.report}`);
  return [...lines, `again: LOCKCHAOS_SEED=${ended.seed} ${again}`].join('\n');
}

// The folder of reports: the one that is named, or one for temporary files that is kept if a test failed.
class Folder {
  constructor() {
    this.named = process.env.LOCKCHAOS_RUNS;
    this.kept = false;
    this.said = new Set();
  }

  // Says a thing once.
  say(text) {
    if (!this.said.has(text)) console.log(text);
    this.said.add(text);
  }

  get path() {
    this.made ??= this.named ? path.resolve(this.named) : fs.mkdtempSync(path.join(os.tmpdir(), 'lockchaos-'));
    return this.made;
  }

  close() {
    if (this.made && !this.named && !this.kept) fs.rmSync(this.made, { recursive: true, force: true });
  }
}

// What an attack comes to. One exam makes those of all tests of the group, where the framework says which these are (together).
// A test that is made once more has an exam of its own.
function ended(exam, attack, together) {
  let run = exam.runs.find((r) => r.told.has(attack));
  if (!run) {
    const attacks = together && exam.runs.length === 0 ? together : [attack];
    run = new binary.Exam([...exam.words, '--seed', exam.seed, '--out', exam.folder.path], attacks);
    exam.runs.push(run);
  }
  const told = run.told.get(attack);
  run.told.delete(attack);
  return told;
}

// One attack, as a test. skip is what the framework skips a running test by; undefined: it can't.
async function attack(event, exam, skip, together) {
  const { name, options, folder } = exam;
  const came = await ended(exam, event.attack, together);
  for (const text of came.stand_ins ?? []) folder.say(`lockchaos: STAND-IN: ${text}`);
  if (came.skipped && skip) return skip(came.skipped);
  const asked = options.inherent || process.env.LOCKCHAOS_INHERENT === '1';
  if (!harmless.includes(came.fate) || (asked && came.fate === inherent)) {
    folder.kept = true;
    throw new LockFell(story(name, event.text, came, exam.again(event.attack)));
  }
  if (came.fate !== 'stood') console.log(`lockchaos: ${name} ${event.attack}: ${came.told}`);
}

// The tests that Vitest runs beside one of its group, and that one.
const beside = (task) => task.suite?.tasks.filter((t) => t === task || t.mode === 'run' || t.mode === 'queued').map((t) => t.name);

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

// How each framework makes a group of tests, several at once; what repeats one; and what ends it.
function frameworkOf(api) {
  if (process.env.VITEST) {
    return {
      group: (name, body) => api.describe.concurrent(name, body),
      test: (name, run) => api.test(name, (context) => run((why) => context.skip(why), beside(context.task)), limit),
      skipped: (name, why) => api.test.skip(`${name} (${why})`, () => {}),
      after: (run) => api.afterAll(run, limit),
      again: (file, name, of) => `npx vitest run ${shell(file)} -t ${shell(`${escaped(name)} ${of}$`)}`,
    };
  }
  if (process.env.JEST_WORKER_ID) {
    return {
      group: api.describe,
      test: (name, run) => api.test.concurrent(name, () => run(), limit),
      skipped: (name, why) => api.test.skip(`${name} (${why})`, () => {}),
      after: (run) => api.afterAll(run, limit),
      again: (file, name, of) => `npx jest ${shell(file)} -t ${shell(`${escaped(name)} ${of}$`)}`,
    };
  }
  return {
    group: (name, body) => api.describe(name, { concurrency: 2 * os.availableParallelism() }, body),
    test: (name, run) => api.test(name, { timeout: limit }, (context) => run((why) => context.skip(why))),
    skipped: (name, why) => api.test(name, { skip: why }),
    after: api.after,
    again: (file, name, of) => `node --test --test-name-pattern=${shell(`${of}$`)} ${shell(file)}`,
  };
}

// Makes tests with the functions of a framework.
function define(api, name, options, open) {
  check(name, options, open);
  if (adapting()) {
    globalThis[registry].set(name, { options, open });
    return;
  }
  const framework = frameworkOf(api);
  const exam = { name, options, folder: new Folder(), runs: [], ...words(name, options) };
  exam.seed = process.env.LOCKCHAOS_SEED ?? String(1 + Math.floor(Math.random() * 999_999));
  exam.again = (of) => framework.again(path.relative(process.cwd(), exam.file), name, of);
  const more = [...(options.short || process.env.LOCKCHAOS_SHORT === '1' ? ['--short'] : []), ...(options.budget ? ['--budget', options.budget] : [])];
  const { lacking, attacks } = binary.listed([...exam.words, ...more]);
  framework.group(name, () => {
    if (lacking) framework.skipped('attacks', lacking);
    for (const event of lacking ? [] : chosen(attacks, options)) {
      const why = event.fix ? `${event.why}: ${event.fix}` : event.why;
      if (why) framework.skipped(event.attack, `not applicable: ${why}`);
      else framework.test(event.attack, (skip, together) => attack(event, exam, skip, together));
    }
    framework.after(async () => {
      await Promise.all(exam.runs.map((run) => run.finish()));
      exam.folder.close();
    });
  });
}

module.exports = { Busy, NotHeld, adapting, claims, registry, several, with: (api) => (name, options, open) => define(api, name, options, open) };
