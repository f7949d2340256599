// RedlockMutex says that it is acquired when its lease is over, if one of three nodes is slow to answer.
//
//     npm ci --prefix .. && node redlock-expired.js      (starts three redis-servers of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const Redis = require('ioredis');
const { RedlockMutex } = require('redis-semaphore');

const lockTimeout = 1000; // ms

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

(async () => {
  const ports = [await freePort(), await freePort(), await freePort()];
  const nodes = ports.map((port) => spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1']));
  process.on('exit', () => nodes.forEach((node) => node.kill('SIGKILL')));
  const connect = () => ports.map((port) => new Redis({ port }).on('error', () => {}));
  const [a, b, c] = [connect(), connect(), connect()];
  await Promise.all([...a, ...b, ...c].map((client) => client.ping()));

  const one = new RedlockMutex(a, 'job', { lockTimeout });
  const two = new RedlockMutex(b, 'job', { lockTimeout, acquireTimeout: 5000 });
  nodes[2].kill('SIGSTOP'); // a minority: the two others answer all the time
  const began = Date.now();
  const first = one.tryAcquire().then((got) => ({ got, after: Date.now() - began }));
  await sleep(200);
  const second = two.tryAcquire();
  await sleep(lockTimeout + 300);
  const left = await Promise.all(c.slice(0, 2).map((client) => client.pttl('mutex:job')));
  nodes[2].kill('SIGCONT');
  const { got, after } = await first;
  await second;

  if (one.isAcquired && two.isAcquired) {
    console.log('DEFECT: both mutexes say that they are acquired.'
      + ` The first one's tryAcquire returned ${got} after ${after} ms, though its lockTimeout is ${lockTimeout} ms`
      + ` and its key was gone from the two other nodes (PTTL ${left.join(', ')}).`);
    process.exit(1);
  }
  console.log('not shown: the mutexes were not both acquired');
  process.exit(0);
})();
