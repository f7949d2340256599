// A lock on a file, which needs no server and no library: see README.md. The file is there for as long as the key is
// taken, so a client that is killed leaves it behind, and the attack kill-work shows that as a defect: stuck-lock.
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { examine } from '@lockchaos/test';

class FileLock {
  constructor(dir) { this.dir = dir; }

  async acquire(key, timeout) {
    for (const end = performance.now() + timeout; performance.now() < end; await sleep(5)) {
      try {
        await (await open(join(this.dir, key), 'wx')).close();
        return true;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
    }
    return false;
  }

  release(key) { return unlink(join(this.dir, key)); }
}

examine('ledger', {
  service: 'none',
  validity: 'session',
  no_expiry: true,
  busy: false, // another client has the file, and this one has made none
  attacks: ['nothing-work', 'stop-work'], // leave it out for all
}, ({ dir }) => new FileLock(dir));
