"""A lock on files that takes several keys at once, for the tests: a key is taken where there is a file of its name. Files are made and removed one by one, under flock(2)."""
import fcntl
import json
import os
import sys
import time

grants = {}


def take(keys):
    if any(os.path.exists(path(key)) for key in keys):
        return False
    for key in keys:
        open(path(key), "x").close()
    return True


def free(keys):
    for key in keys:
        os.remove(path(key))


def path(key):
    return os.path.join(folder, key)


def alone(act, keys):
    with open(path(".lock"), "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        return act(keys)


def answer(r):
    if r["op"] == "hello":
        return {"ok": True, "name": "sets", "multi_key": 2, "confirms": ["release"]}
    if r["op"] == "acquire":
        keys, until = r.get("keys", [r["key"]]), time.monotonic() + r["timeout_ms"] / 1000
        while not alone(take, keys):
            if time.monotonic() > until:
                return {"ok": False, "error": "busy"}
            time.sleep(0.005)
        grants[r["id"]] = keys
    if r["op"] == "release":
        if r["grant"] not in grants:
            return {"ok": False, "error": "not_held"}
        alone(free, grants.pop(r["grant"]))
    return {"ok": True}


for line in sys.stdin:
    request = json.loads(line)
    folder = request.get("dir") or globals().get("folder")
    print(json.dumps({"id": request["id"], **answer(request)}), flush=True)
