// After acquireImmediately, getRemainingTime tells the whole TTL, however long the answer of Redis took.
//
//     npm ci --prefix .. && node immediately.mjs         (starts a redis-server of its own on loopback)
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { Redis } from 'ioredis';
import { Verrou } from '@verrou/core';
import { redisStore } from '@verrou/core/drivers/redis';

const ttl = 500; // ms
let delay = 0; // of what the server answers to the client behind the proxy

async function listen(server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}

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
const stores = (connection) => ({ redis: { driver: redisStore({ connection }) } });
const locks = (connection) => new Verrou({ default: 'redis', stores: stores(connection) });

delay = ttl + 200;
const one = locks(behind).createLock('job', ttl);
const got = await one.acquireImmediately();
const other = await locks(direct).createLock('job', 10000).acquireImmediately();
if (got && other && !one.isExpired()) {
  console.log(`DEFECT: two clients have the lock. The first one waited ${delay} ms for it, its TTL is ${ttl} ms,`
    + ` yet it says isExpired() ${one.isExpired()} and getRemainingTime() ${one.getRemainingTime()} ms.`);
  process.exit(1);
}
console.log('not shown: only one client has the lock, or the other knows that it has expired');
process.exit(0);
