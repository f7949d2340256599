// A lock on etcd by its JSON gateway, for trying the module for Node (examples/node/protocol.js)
// with a service that has sessions.
'use strict';
const { Failure, main, nowMs, nowNs, send, sleep } = require(`${process.cwd()}/node/protocol.js`);

const base64 = (text) => Buffer.from(text).toString('base64');

class Lock {
  constructor(hello) {
    this.nodes = hello.nodes;
    this.ttl = hello.ttl_ms;
    this.lease = null; // the session: a lease that is kept alive
    this.held = new Map(); // the revision with which each key is ours
  }

  async open() {
    setInterval(() => this.keepAlive().catch(() => {}), this.ttl / 4);
    await this.renewed();
    return this;
  }

  declare() {
    return {
      name: 'etcd gateway 1', validity: 'session', token: 'fencing', confirms: ['release'],
      can: ['cancel'], sessions: true,
    };
  }

  session() {
    return this.lease;
  }

  async ask(path, body, limit) {
    const signal = AbortSignal.timeout(Math.max(limit, 1));
    const url = `http://${this.nodes[0]}/v3/${path}`;
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async renewed() {
    this.lease ??= (await this.ask('lease/grant', { TTL: String(Math.ceil(this.ttl / 1000)) }, 2000)).ID;
    return this.lease;
  }

  async keepAlive() {
    const { lease } = this;
    if (lease === null) return;
    const answer = await this.ask('lease/keepalive', { ID: lease }, 1000);
    if (Number(answer.result.TTL ?? 0) === 0) this.ended(lease);
  }

  ended(lease) {
    if (this.lease !== lease) return;
    this.lease = null;
    for (const key of this.held.keys()) send({ event: 'lost', key, why: 'the lease is over' });
    this.held.clear();
  }

  async acquire(key, timeout, signal) {
    for (const end = nowMs() + timeout; ;) {
      const began = nowNs();
      const name = base64(key);
      const lease = await this.renewed();
      const answer = await this.ask('kv/txn', {
        compare: [{ key: name, target: 'CREATE', create_revision: '0' }],
        success: [{ request_put: { key: name, lease } }],
      }, 1000).catch((e) => {
        if (!/lease not found/.test(e)) throw Object.assign(e, { first: began });
        this.ended(lease); // etcd has refused it: the next try is one of a new session
        return null;
      });
      if (answer === null) continue;
      if (answer.succeeded) {
        this.held.set(key, answer.header.revision);
        return { token: Number(answer.header.revision), attempt_ns: String(began), first_ns: String(began) };
      }
      if (signal.aborted || nowMs() + 20 >= end) throw new Failure('busy');
      await sleep(20);
    }
  }

  async release(key, timeout) {
    const answer = await this.ask('kv/txn', {
      compare: [{ key: base64(key), target: 'CREATE', create_revision: this.held.get(key) ?? '-1' }],
      success: [{ request_delete_range: { key: base64(key) } }],
    }, timeout);
    this.held.delete(key);
    if (!answer.succeeded) throw new Failure('not_held');
    return {};
  }

  async close() {
    if (this.lease !== null) await this.ask('lease/revoke', { ID: this.lease }, 1000).catch(() => {});
  }
}

main((hello) => new Lock(hello).open());
