package broken

import (
	"context"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
)

// ReadersYield is the control broken-etcd-readers-yield: etcd-rw whose readers let every
// writer go first, also one that came later. That writer waits for all who came before
// it, and so for the reader. They wait for each other, and everybody who comes then
// waits for them, until one gives up. The bound on the revision, which etcd's own recipe
// for reader-writer locks has in its query (WithMaxModRev), is all that is missing.
var ReadersYield = clients.Kind{
	Name:      "broken-etcd-readers-yield",
	About:     "etcd-rw whose readers wait for later writers, too: a reader and a writer wait for each other",
	Service:   "etcd",
	Claims:    etcd.ReadWriteClaims,
	LostGrace: etcd.ReadWrite.LostGrace,
	Renews:    true,
	Control:   checker.StuckLock,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		return etcd.OpenReadWrite(c, func(own, other etcd.Place) bool {
			if own.Reader {
				return !other.Reader
			}
			return other.Revision < own.Revision
		})
	},
}
