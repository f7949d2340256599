// acquire() and extend() succeed when the lock has expired by the library's own count.
//
//     npm ci --prefix .. && node late.mjs                (starts a redis-server of its own on loopback)
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
const got = await one.acquire();
const late = -one.getRemainingTime();
delay = 0;
const two = locks(behind).createLock('other job', ttl);
await two.acquire();
delay = ttl + 200;
const extended = await two.extend().then(() => true, () => false);
const lateAgain = -two.getRemainingTime();
if (got && extended && late > 0 && lateAgain > 0) {
  console.log(`DEFECT: acquire() returned true ${late} ms after the lock had expired by the library's own count,`
    + ` and extend() succeeded ${lateAgain} ms after the extended lock had expired.`);
  process.exit(1);
}
console.log('not shown: acquire or extend failed, or came in time');
process.exit(0);
