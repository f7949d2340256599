// lock() passes an unlock function, the sign of success, when the lock has expired and another client has it.
//
//     npm ci --prefix .. && node late.js                 (starts a redis-server of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const redis = require('redis');
const Warlock = require('node-redis-warlock');

const ttl = 500; // ms
let delay = 0; // of what the server answers to the client behind the proxy

async function listen(server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

const lock = (client, lifetime) => new Promise((done, fail) => {
  Warlock(client).lock('job', lifetime, (err, unlock) => (err ? fail(err) : done(typeof unlock === 'function')));
});

(async () => {
  const probe = net.createServer();
  const port = await listen(probe);
  await new Promise((done) => probe.close(done));
  const server = spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1']);
  process.on('exit', () => server.kill('SIGKILL'));
  const direct = redis.createClient({ port }).on('error', () => {});
  await new Promise((done) => direct.on('ready', done));
  const slow = await listen(net.createServer((client) => {
    const upstream = net.connect(port, '127.0.0.1');
    client.pipe(upstream);
    upstream.on('data', (data) => setTimeout(() => client.write(data), delay));
  }));
  const behind = redis.createClient({ port: slow });
  await new Promise((done) => behind.on('ready', done));

  delay = ttl + 300;
  const first = await lock(behind, ttl);
  const second = await lock(direct, 10000);
  if (first && second) {
    console.log(`DEFECT: two clients have the lock. The first one was told of it ${delay} ms after it asked,`
      + ` and the ttl is ${ttl} ms.`);
    process.exit(1);
  }
  console.log('not shown: only one client has the lock');
  process.exit(0);
})();
