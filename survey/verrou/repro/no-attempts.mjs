// acquire returns true without asking Redis, if the greatest number of attempts is 0.
//
//     npm ci --prefix .. && node no-attempts.mjs         (starts a redis-server of its own on loopback)
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { Redis } from 'ioredis';
import { Verrou } from '@verrou/core';
import { redisStore } from '@verrou/core/drivers/redis';

const probe = net.createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
await new Promise((done) => probe.close(done));
const redis = spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1']);
process.on('exit', () => redis.kill('SIGKILL'));
const connection = new Redis({ port }).on('error', () => {});
const verrou = new Verrou({ default: 'redis', stores: { redis: { driver: redisStore({ connection }) } } });

const one = await verrou.createLock('job', '10s').acquire();
const two = await verrou.createLock('job', '10s').acquire({ retry: { attempts: 0 } });
if (one && two) {
  console.log('DEFECT: a lock that another holds for 10 s was "acquired" with retry.attempts 0.');
  process.exit(1);
}
console.log('not shown: only one lock was acquired');
process.exit(0);
