// A client whose lock is over gets a higher fencing token than the client that has the lock.
//
//     npm ci --prefix .. && node fencing-token.js        (starts a redis-server of its own on loopback)
'use strict';
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { createClient } = require('redis');
const { lock } = require('simple-redis-mutex');

const timeout = 500; // ms, of A's lock
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
  const slow = await listen(net.createServer((client) => {
    const server = net.connect(port, '127.0.0.1').on('error', () => client.destroy());
    client.pipe(server);
    server.on('data', (data) => setTimeout(() => client.write(data), delay));
  }));
  const connect = async (p) => createClient({ socket: { host: '127.0.0.1', port: p } }).on('error', () => {}).connect();
  const [a, b] = [await connect(slow), await connect(port)];
  await (await lock(a, 'warm-up', { timeout }))(); // the subscriber connects

  delay = timeout + 300; // the answer to SET is late: A asks for its token when its lock is over
  const first = lock(a, 'job', { timeout });
  const second = await lock(b, 'job', { timeout: 10000, pollingInterval: 20 });
  const { fencingToken } = await first;
  if (fencingToken > second.fencingToken) {
    console.log(`DEFECT: B holds the lock with the fencing token ${second.fencingToken}, and A,`
      + ` whose lock ended before B's began, has ${fencingToken}.`
      + " A store that refuses lower tokens takes A's late writes, and refuses B's.");
    process.exit(1);
  }
  console.log('not shown: the holder has the higher token');
  process.exit(0);
})();
