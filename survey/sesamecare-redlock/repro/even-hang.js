// acquire never settles if the votes of an even number of servers are split.
//
//     npm ci --prefix .. && node even-hang.js            (starts two redis-servers of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const Redis = require('ioredis');
const { Redlock } = require('@sesamecare-oss/redlock');

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

(async () => {
  const ports = [await freePort(), await freePort()];
  const nodes = ports.map((port) => spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1']));
  process.on('exit', () => nodes.forEach((node) => node.kill('SIGKILL')));
  const clients = ports.map((port) => new Redis({ port }).on('error', () => {}));
  await Promise.all(clients.map((client) => client.ping()));

  await clients[0].set('job', 'another client has it on this server', 'PX', 500);
  const redlock = new Redlock(clients, { retryCount: 5, retryDelay: 200 });
  const acquire = redlock.acquire(['job'], 1000).then(() => 'a lock', (e) => `an error (${e.message})`);
  const outcome = await Promise.race([acquire, sleep(10000, 'nothing')]);
  if (outcome === 'nothing') {
    console.log('DEFECT: acquire has neither succeeded nor failed after 10 s.'
      + ' Its 5 retries take 1.5 s at most, and the key that stood in its way was gone after 0.5 s.');
    process.exit(1);
  }
  console.log(`not shown: acquire ended with ${outcome}`);
  process.exit(0);
})();
