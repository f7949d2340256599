// acquire and extend return locks that have already expired, if the answer of Redis is late.
//
//     npm ci --prefix .. && node expired-grant.js        (starts a redis-server of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const Redis = require('ioredis');
const { Redlock } = require('@sesamecare-oss/redlock');

const duration = 500; // ms
let delay = 0; // of what the server answers to the client behind the proxy

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
  const direct = new Redis({ port }).on('error', () => {});
  await direct.ping();
  const slow = await listen(net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1');
    client.pipe(server);
    server.on('data', (data) => setTimeout(() => client.write(data), delay));
  }));
  const behind = new Redis({ port: slow });
  await behind.ping();

  const one = new Redlock([behind]);
  const two = new Redlock([direct]);
  delay = duration + 300; // slower than the lease, faster than any time limit of the client
  const lock = await one.acquire(['job'], duration);
  const late = Date.now() - lock.expiration;
  delay = 0;
  const other = await two.acquire(['job'], 10000);
  await other.release();

  const second = await one.acquire(['job'], duration);
  delay = duration + 300;
  const extended = await second.extend(duration);
  const lateAgain = Date.now() - extended.expiration;
  if (late > 0 || lateAgain > 0) {
    console.log(`DEFECT: acquire resolved with a lock that had expired ${late} ms before (another got it at once),`
      + ` and extend with one that had expired ${lateAgain} ms before. Both should have failed.`);
    process.exit(1);
  }
  console.log('not shown: what was returned had not expired');
  process.exit(0);
})();
