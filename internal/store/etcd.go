package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockchaos/lockchaos/internal/endpoint/etcdurl"
)

// etcdKeeper is the engine on an etcd cluster: a request is one transaction that compares the mod
// revisions of the key's state and of the ledger's head with those that the decision was made
// from, and on a guarded store the create revision of the lock's key with the token; it then puts
// state, head and entry. So nothing that was decided from an old state can be carried out.
type etcdKeeper struct {
	name, version string
	fencing       Fencing
	client        *clientv3.Client

	head      etcdHead
	headRev   int64
	registers map[string]*etcdRegister // as last seen; emptied with every epoch
}

// etcdHead is the end of the ledger. Every request changes it, so that of two
// requests made from one head only one is carried out.
type etcdHead struct {
	Epoch int64 `json:"epoch"`
	Seq   int64 `json:"seq"`
	At    int64 `json:"at"`
}

type etcdRegister struct {
	register
	rev int64 // mod revision; 0: the key is not there
}

func openEtcd(ctx context.Context, s Spec) (Engine, error) {
	config, err := etcdurl.Config(s.Addrs)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	at := strings.Join(config.Endpoints, ",")
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", at, err)
	}
	k := &etcdKeeper{name: s.Name, fencing: s.Fencing, client: client}
	status, err := client.Status(ctx, config.Endpoints[0])
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask etcd at %s who it is: %w", at, err), k.Close())
	}
	k.version = status.Version
	r, err := newRemote(ctx, k, s.Fencing)
	if err != nil {
		return nil, fmt.Errorf("open the ledger in etcd: %w", err)
	}
	return r, nil
}

func (k *etcdKeeper) headKey() string               { return k.name + "/head" }
func (k *etcdKeeper) registerKey(key string) string { return k.name + "/register/" + key }

// entryKey sorts as the numbers do.
func (k *etcdKeeper) entryKey(seq int64) string { return fmt.Sprintf("%s/ledger/%019d", k.name, seq) }

// Version names the engine and its server's version.
func (k *etcdKeeper) Version() string { return "etcd " + k.version }

// failed says which servers an error is about.
func (k *etcdKeeper) failed(err error) error {
	return fmt.Errorf("etcd at %s: %w", strings.Join(k.client.Endpoints(), ","), err)
}

// claim changes the head, which every transaction of an earlier epoch compares.
func (k *etcdKeeper) claim(ctx context.Context) (last int64, err error) {
	for {
		var head etcdHead
		rev, err := k.get(ctx, k.headKey(), &head)
		if err != nil {
			return 0, err
		}
		head.Epoch++
		done, err := k.client.Txn(ctx).If(unchanged(k.headKey(), rev)).Then(put(k.headKey(), head)).Commit()
		if err != nil {
			return 0, k.failed(err)
		}
		if done.Succeeded {
			k.head, k.headRev, k.registers = head, done.Header.Revision, map[string]*etcdRegister{}
			return head.Seq, nil
		}
	}
}

func unchanged(key string, rev int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", rev)
}

func put(key string, value any) clientv3.Op {
	text, _ := json.Marshal(value) // structs of numbers and valid text
	return clientv3.OpPut(key, string(text))
}

// get reads a key as of now (a linearizable read). What is not there leaves
// into as it is, at revision 0.
func (k *etcdKeeper) get(ctx context.Context, key string, into any) (rev int64, err error) {
	reply, err := k.client.Get(ctx, key)
	if err != nil {
		return 0, k.failed(err)
	}
	if len(reply.Kvs) == 0 {
		return 0, nil
	}
	if err := json.Unmarshal(reply.Kvs[0].Value, into); err != nil {
		return 0, k.failed(fmt.Errorf("key %s is not understood: %w", key, err))
	}
	return reply.Kvs[0].ModRevision, nil
}

func (k *etcdKeeper) register(ctx context.Context, key string) (*etcdRegister, error) {
	if r := k.registers[key]; r != nil {
		return r, nil
	}
	r := &etcdRegister{}
	var err error
	if r.rev, err = k.get(ctx, k.registerKey(key), &r.register); err != nil {
		return nil, err
	}
	k.registers[key] = r
	return r, nil
}

func (k *etcdKeeper) carryOut(ctx context.Context, e *Entry) error {
	r, err := k.register(ctx, e.Key)
	if err != nil {
		return err
	}
	next := r.register
	decided := *e
	if err := next.decide(&decided, k.fencing); err != nil {
		return err
	}
	var conditions []clientv3.Cmp
	if e.Write && k.fencing.Guarded {
		conditions = []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(e.Guard), "=", e.Token)}
	}
	done, err := k.commit(ctx, &decided, r, next, conditions...)
	switch {
	case err != nil:
		return err
	case done:
		*e = decided
		return nil
	case len(conditions) == 0:
		return k.failed(errEpoch)
	}
	// A create revision that has gone never comes back: the refusal may be entered in a
	// transaction of its own. If it was the head that had changed, this one fails as well.
	e.Refused = true
	e.Fence = r.Fence
	if done, err = k.commit(ctx, e, r, r.register); err == nil && !done {
		err = k.failed(errEpoch)
	}
	return err
}

// commit sends the transaction. done is false when one of its conditions did
// not hold, and nothing was written.
func (k *etcdKeeper) commit(ctx context.Context, e *Entry, r *etcdRegister, next register,
	conditions ...clientv3.Cmp) (done bool, err error) {
	head := k.head
	head.Seq++
	head.At = max(head.At, e.At)
	e.Seq, e.At = head.Seq, head.At
	conditions = append(conditions, unchanged(k.headKey(), k.headRev), unchanged(k.registerKey(e.Key), r.rev))
	ops := []clientv3.Op{put(k.headKey(), head), put(k.entryKey(e.Seq), e)}
	if next != r.register {
		ops = append(ops, put(k.registerKey(e.Key), next))
	}
	reply, err := k.client.Txn(ctx).If(conditions...).Then(ops...).Commit()
	if err != nil {
		return false, k.failed(err)
	}
	if !reply.Succeeded {
		return false, nil
	}
	k.head, k.headRev = head, reply.Header.Revision
	if next != r.register {
		r.register, r.rev = next, reply.Header.Revision
	}
	return true, nil
}

func (k *etcdKeeper) entries(ctx context.Context, after int64, limit int) ([]Entry, error) {
	end := clientv3.GetPrefixRangeEnd(k.name + "/ledger/")
	reply, err := k.client.Get(ctx, k.entryKey(after+1), clientv3.WithRange(end), clientv3.WithLimit(int64(limit)))
	if err != nil {
		return nil, k.failed(err)
	}
	var entries []Entry
	for _, kv := range reply.Kvs {
		var e Entry
		if err := json.Unmarshal(kv.Value, &e); err != nil {
			return nil, k.failed(fmt.Errorf("entry %s of the ledger is not understood: %w", kv.Key, err))
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Close gives the connections up.
func (k *etcdKeeper) Close() error { return k.client.Close() }
