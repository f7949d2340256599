// The handle of a lock says that the whole TTL is left, however long the acquire took: also when the key is gone.
//
//     npm ci --prefix .. && node acquired-at.js          (starts a redis-server of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const Redis = require('ioredis');
const { createLock, IoredisAdapter } = require('redlock-universal');

const ttl = 500; // ms
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
  const options = { key: 'job', circuitBreaker: false };
  const one = createLock({ ...options, adapter: new IoredisAdapter(behind), ttl });
  const two = createLock({ ...options, adapter: new IoredisAdapter(direct), ttl: 10000 });

  delay = ttl + 300;
  const handle = await one.acquire();
  await two.acquire(); // throws if the key is there
  const left = handle.acquiredAt + handle.ttl - Date.now();
  if (left > 0) {
    console.log('DEFECT: two clients have the lock.'
      + ` The first one's acquire took ${handle.metadata.acquisitionTime} ms, its TTL is ${ttl} ms,`
      + ` and its handle says that ${left} ms are left.`);
    process.exit(1);
  }
  console.log('not shown: the handle knows that its lock has expired');
  process.exit(0);
})();
