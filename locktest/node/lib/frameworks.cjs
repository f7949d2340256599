// A test file that is imported for its locks alone, outside of its framework: the framework's own functions do nothing there.
'use strict';
const Module = require('node:module');

const modules = ['vitest', '@jest/globals', 'node:test'];
const functions = ['after', 'afterAll', 'afterEach', 'assert', 'assertType', 'before', 'beforeAll', 'beforeEach', 'bench', 'chai', 'describe',
  'expect', 'expectTypeOf', 'fdescribe', 'fit', 'inject', 'it', 'jest', 'mock', 'onTestFailed', 'onTestFinished', 'only', 'run', 'skip',
  'snapshot', 'suite', 'test', 'todo', 'vi', 'vitest', 'xdescribe', 'xit', 'xtest'];

// Whatever is asked of it, and called: describe.skip.each([…])(…), vi.fn().
const nothing = new Proxy(function nothing() {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : name === 'then' ? undefined : nothing),
  apply: () => nothing,
  construct: () => nothing,
});
const stubs = Object.fromEntries([...functions, 'default'].map((name) => [name, nothing]));

// What import gets, from the hooks' own thread: a module that takes the functions from here.
const source = `const s = globalThis[Symbol.for('lockchaos.stubs')];\n${functions.map((f) => `export const ${f} = s.${f};`).join('\n')}\nexport default s.test;\n`;
const hooks = `const modules = ${JSON.stringify(modules)};
export const resolve = (name, context, next) => modules.includes(name)
  ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(source)}`)}, shortCircuit: true } : next(name, context);`;

// Replaces the frameworks, for require and for import, and their globals.
function stub() {
  const load = Module._load;
  Module._load = function loadOrStub(name, ...more) {
    return modules.includes(name) ? Object.assign(() => nothing, stubs) : load.call(this, name, ...more);
  };
  globalThis[Symbol.for('lockchaos.stubs')] = stubs;
  Module.register(`data:text/javascript,${encodeURIComponent(hooks)}`);
  for (const name of functions) globalThis[name] ??= nothing;
}

module.exports = { stub };
