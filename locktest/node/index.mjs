// What a test file imports. See docs/frameworks.md of lockchaos.
import core from './lib/examine.cjs';

const api = core.adapting() ? {} : process.env.VITEST ? await import('vitest') : process.env.JEST_WORKER_ID ? globalThis : await import('node:test');

export const { Busy, NotHeld } = core;
export const examine = core.with(api);
