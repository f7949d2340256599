// A connection that breaks while lock() waits ends the process, though the caller catches what lock() rejects with.
//
//     npm ci --prefix .. && node crash.js                (starts a redis-server of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { createClient } = require('redis');

async function application(port) {
  const { lock } = require('simple-redis-mutex');
  const client = await createClient({ socket: { host: '127.0.0.1', port } }).on('error', () => {}).connect();
  await (await lock(client, 'warm-up'))();
  process.send('ready');
  await once(process, 'message');
  await lock(client, 'job', { failAfter: 3000 }).catch((e) => console.log(`lock() failed: ${e.message}`));
  process.exit(0);
}

(async () => {
  if (process.send) return application(Number(process.argv[2]));
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((done) => probe.close(done));
  const redis = spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1']);
  process.on('exit', () => redis.kill('SIGKILL'));
  await sleep(500);
  const app = spawn(process.execPath, [__filename, port], { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
  let said = '';
  app.stderr.on('data', (data) => { said += data; });
  const ended = once(app, 'exit');
  await once(app, 'message');
  redis.kill('SIGSTOP'); // so that the request of lock() is not answered
  app.send('go');
  await sleep(500);
  redis.kill('SIGKILL');
  const [code] = await ended;
  if (code !== 0) {
    const why = said.split('\n').find((line) => /Error/.test(line)) ?? said;
    console.log(`DEFECT: the process ended with exit status ${code} by an unhandled rejection (${why.trim()}).`);
    process.exit(1);
  }
  console.log('not shown: the process lives on');
  process.exit(0);
})();
