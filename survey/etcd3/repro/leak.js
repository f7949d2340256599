// An acquire() that fails keeps the lock for as long as the process lives, if etcd had carried it out.
//
//     npm ci --prefix .. && node leak.js 127.0.0.1:2379  (an etcd server on loopback)
'use strict';
const { once } = require('node:events');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');
const { Etcd3 } = require('etcd3');

const ttl = 5; // s, of the lock's lease
const [host, port] = process.argv[2].split(':');
const servers = new Set(); // the proxy's connections to etcd

(async () => {
  const proxy = net.createServer((client) => {
    const server = net.connect(Number(port), host).on('error', () => client.destroy());
    client.on('error', () => server.destroy());
    client.pipe(server).pipe(client);
    servers.add(server);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const direct = new Etcd3({ hosts: `http://${host}:${port}` });
  const behind = new Etcd3({ hosts: `http://127.0.0.1:${proxy.address().port}` });
  const taken = async () => (await direct.get('job').exec()).kvs.length > 0;
  await direct.delete().key('job');
  await behind.get('job').string();

  const lock = behind.lock('job').ttl(ttl).options({ deadline: Date.now() + 1000 });
  const acquire = lock.acquire().then(() => 'succeeded', (e) => `failed (${e.message})`);
  await lock.leaseId(); // the lease is there: the transaction that takes the key is next
  servers.forEach((server) => server.pause()); // etcd's answers wait
  while (!(await taken())) await sleep(5);
  const outcome = await acquire;
  servers.forEach((server) => server.resume()); // the network is well again
  await sleep(4 * ttl * 1000);
  if (outcome.startsWith('failed') && await taken()) {
    console.log(`DEFECT: acquire() ${outcome}, and ${4 * ttl} s later the lock, whose TTL is ${ttl} s, is still taken:`
      + ' the library keeps its lease alive, and no one has it.');
    process.exit(1);
  }
  console.log(`not shown: acquire() ${outcome}; the key is free`);
  process.exit(0);
})();
