"""Two holders: who waited has locked a file that the one before has removed. portalocker before 4.0.0.

    python3 unlinked.py
"""

import importlib.metadata
import os
import sys
import tempfile
import threading
import time

import portalocker

path = os.path.join(tempfile.mkdtemp(), "job.lock")
a, b, c = (portalocker.TemporaryFileLock(path, timeout=10, fail_when_locked=False) for _ in range(3))
a.acquire()
waiter = threading.Thread(target=b.acquire)
waiter.start()
time.sleep(0.5)  # b has the file open, and waits
a.release()
waiter.join()
try:
    c.acquire(timeout=0.5)
except portalocker.exceptions.BaseLockException:
    pass
version = importlib.metadata.version("portalocker")
if b.fh and c.fh:
    print(f"DEFECT: portalocker {version}: two hold the lock, one of them on a file that was removed.")
    sys.exit(1)
print(f"not shown with portalocker {version}")
