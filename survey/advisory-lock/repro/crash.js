// A connection that PostgreSQL ends while the lock is held ends the process, though the caller catches everything.
//
//     npm ci --prefix .. && node crash.js postgres://USER@127.0.0.1:PORT/DATABASE
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const pg = require('pg');

async function application(url) {
  const mutex = require('advisory-lock').default(url)('job');
  try {
    await mutex.withLock(async () => {
      process.send('held');
      await sleep(3000); // the work
    });
  } catch (e) {
    console.log(`withLock failed: ${e.message}`);
  }
  process.exit(0);
}

(async () => {
  const url = process.argv[2];
  if (process.send) return application(url);
  const app = spawn(process.execPath, [__filename, url], { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
  let said = '';
  app.stderr.on('data', (data) => { said += data; });
  const ended = once(app, 'exit');
  await once(app, 'message');
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"); // as a failover does
  await admin.end();
  const [code] = await ended;
  if (code !== 0) {
    const why = said.split('\n').find((line) => /^error|Error:/.test(line)) ?? said;
    console.log(`DEFECT: the process ended with exit status ${code} by an uncaught exception (${why.trim()}).`);
    process.exit(1);
  }
  console.log('not shown: the process lives on');
  process.exit(0);
})();
