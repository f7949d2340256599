"""A lock on a file, which needs no server: pip install pytest-lockchaos, then pytest."""

import fcntl
import os
import time

import lockchaos


class FileLock:
    def __init__(self, path):
        self.path = path

    def acquire(self, timeout):
        end, self.file = time.monotonic() + timeout, open(self.path, "w")
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > end:
                    self.file.close()
                    return False
                time.sleep(0.005)

    def release(self):
        self.file.close()


@lockchaos.exam(service="none", validity="session", no_expiry=True, busy=False, attacks=["nothing-work", "stop-work", "kill-work"])
def ledger(dir, key):
    return FileLock(os.path.join(dir, key))
