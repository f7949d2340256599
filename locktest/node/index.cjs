// What a test file requires, in Jest and in node:test. Vitest imports index.mjs.
'use strict';
const core = require('./lib/examine.cjs');

const api = core.adapting() ? {} : process.env.JEST_WORKER_ID ? globalThis : require('node:test');

module.exports = { Busy: core.Busy, NotHeld: core.NotHeld, examine: core.with(api) };
