// done() deletes the lock of another client, if its request is slow on its way.
//
//     npm ci --prefix .. && node stolen-release.js       (starts a redis-server of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { createClient } = require('redis');
const redisLock = require('redis-lock');

const timeout = 500; // ms, of each lock
let delay = 0; // of what the client behind the proxy sends

async function listen(server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

(async () => {
  const probe = net.createServer();
  const port = await listen(probe);
  await new Promise((done) => probe.close(done));
  const redis = spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1']);
  process.on('exit', () => redis.kill('SIGKILL'));
  const slow = await listen(net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1').on('error', () => client.destroy());
    client.on('data', (data) => setTimeout(() => server.write(data), delay));
    server.pipe(client);
  }));
  const connect = async (p) => createClient({ socket: { host: '127.0.0.1', port: p } }).on('error', () => {}).connect();
  const [a, b, c] = [await connect(slow), await connect(port), await connect(port)];

  const done = await redisLock(a)('job', timeout);
  delay = timeout + 300;
  const released = done(); // in time, by the client's clock: DEL leaves at once, and arrives when the lock is B's
  await redisLock(b, 10)('job', 10000);
  const began = Date.now();
  await released;
  const outcome = await Promise.race([redisLock(c, 10)('job', 10000).then(() => 'C has it'), sleep(3000, 'C waits')]);
  if (outcome === 'C has it') {
    console.log(`DEFECT: C got the lock ${Date.now() - began} ms after B, which holds it for 10000 ms:`
      + ' the late release of A deleted it.');
    process.exit(1);
  }
  console.log('not shown: C did not get the lock');
  process.exit(0);
})();
