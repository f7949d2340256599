package main

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
)

// toleratesOf is what each lock claims of faults on nodes of its service. Those on five Redis
// ask all of them at once and hold with a majority; those on etcd and ZooKeeper have a quorum
// behind whatever node they talk to. One server, or a primary with a replica, is no quorum.
//
// Controls claim what the lock claims that they were made from, unless they claim little.
var toleratesOf = map[string]string{
	"redlock": "minority", "redsync": "minority", "etcd-lease": "minority", "etcd-lock-api": "minority",
	"etcd-election": "minority", "broken-etcd-election-stays": "minority",
	"etcd-txn": "minority", "semaphore-etcd": "minority",
	"etcd-rw": "minority", "zookeeper": "minority", "zookeeper-gozk": "minority",
	"broken-redlock-no-quorum": "minority", "broken-redlock-no-validity": "minority",
	"broken-zk-session-blind": "minority", "broken-zk-herd": "minority",
	"broken-etcd-token-lease": "minority", "broken-etcd-readers-yield": "minority",
}

// TestEveryLockSaysWhatItTolerates: a claim that nobody has looked into is
// none, and one that the service can't bear is wrong.
func TestEveryLockSaysWhatItTolerates(t *testing.T) {
	for _, k := range locks() {
		if got := k.Claims.Tolerates; got != toleratesOf[k.Name] {
			t.Errorf("%s tolerates %q, want %q", k.Name, got, toleratesOf[k.Name])
		}
		if service, ours := backends.Lookup(k.Service); ours && k.Claims.Tolerates != "" && len(service.Nodes) < 3 {
			t.Errorf("%s tolerates a minority of the %d nodes of %s", k.Name, len(service.Nodes), k.Service)
		}
	}
	for name := range toleratesOf {
		if _, err := ours().Lock(name); err != nil {
			t.Error(err)
		}
	}
}
