package etcd

import "github.com/lockchaos/lockchaos/clients"

// Txn is the lock etcd-txn: etcd-lease, used as etcd's documentation advises for what lies in etcd
// itself. Each write is a transaction that compares the create revision of the lock's key with the
// grant's, and writes only if they are equal. So it is the grant that is checked, in the instant
// of the write, and not what a client believes of it: a holder may be late, its write can't.
var Txn = func() clients.Kind {
	k := Lease
	k.Name = "etcd-txn"
	k.About = "etcd's own lock, and a store in the same etcd: each write is a transaction that looks whether the lock's key is still the grant's"
	k.Writes = "guarded"
	return k
}()

// Guard returns the key that is there, with the grant's revision, for as long
// as the grant stands; "" for a grant of another client.
func (l *lock) Guard(g clients.Grant) string {
	if h, ok := g.Secret.(*hold); ok && h.lock == l {
		return h.path
	}
	return ""
}
