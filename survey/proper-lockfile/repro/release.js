// release() of a lock that another has by now removes the other's lock: a third process gets it at once.
//
//     npm ci --prefix .. && node release.js
'use strict';
const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const lockfile = require('proper-lockfile');

const options = { stale: 2000, retries: { retries: 100, minTimeout: 50, maxTimeout: 50 } };

async function worker(file, busy) {
  const release = await lockfile.lock(file, options);
  process.send('held');
  if (busy) {
    for (const end = Date.now() + Number(busy); Date.now() < end;); // work that does not yield, longer than "stale"
    process.send(await release().then(() => 'released', (e) => `release failed: ${e.code}`));
  } else {
    await sleep(20000); // work that yields, so that the lock is kept fresh
  }
}

(async () => {
  if (process.send) return worker(process.argv[2], process.argv[3]);
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'lock-')), 'job');
  fs.writeFileSync(file, '');
  const a = fork(__filename, [file, '4000']);
  await once(a, 'message');
  const b = fork(__filename, [file]);
  await once(b, 'message'); // a's lock was stale
  const [said] = await once(a, 'message');
  await sleep(100);
  const c = fork(__filename, [file]);
  const third = await Promise.race([once(c, 'message').then(() => true), sleep(1500, false)]);
  for (const child of [a, b, c]) child.kill('SIGKILL');
  if (third) {
    console.log(`DEFECT: B holds the lock and keeps it fresh. A, whose lock was stale, has "${said}", and C got the lock beside B.`);
    process.exit(1);
  }
  console.log(`not shown: A "${said}", and C has to wait`);
  process.exit(0);
})();
