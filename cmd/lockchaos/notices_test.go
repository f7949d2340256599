package main

import "testing"

// noticesOf is what is true of each lock that claims to notice a loss within a time, by
// the code that notices it. That the locks that notice alone do is tried on their services
// (clienttest, "a holder that hears nothing of the service"); the others rely on answers:
//
//   - etcd's library counts a lease from the receipt of the last answer. One
//     that was long on its way makes it believe for as long beyond the grace.
//   - gozk is told by ZooKeeper when it has a connection again.
//
// Controls claim what the lock claims that they were made from.
var noticesOf = map[string]string{
	"redis-watchdog": "alone", "zookeeper": "alone",
	"pg-advisory": "alone", "pg-advisory-xact": "alone", "pg-row": "alone", "pg-advisory-xact-pgbouncer": "alone",
	"consul-session": "alone", "consul-semaphore": "alone", "mariadb-getlock": "alone", "mariadb-row": "alone",
	"etcd-lease": "undisturbed", "etcd-lock-api": "undisturbed", "semaphore-etcd": "undisturbed",
	"etcd-rw": "undisturbed", "etcd-election": "undisturbed", "broken-etcd-election-stays": "undisturbed", "zookeeper-gozk": "undisturbed", "etcd-txn": "undisturbed",
	"broken-watchdog-deaf": "alone", "broken-zk-session-blind": "alone", "broken-zk-herd": "alone", "pg-advisory-pgbouncer": "alone",
	"broken-consul-deaf": "alone", "broken-mariadb-reconnect": "alone", "galera-getlock": "alone",
	"broken-etcd-waiter-blind": "undisturbed", "broken-etcd-queue-stayer": "undisturbed",
	"broken-etcd-token-lease": "undisturbed", "broken-etcd-readers-yield": "undisturbed",
	"broken-etcd-queue-careless": "undisturbed", "broken-watchdog-retakes": "undisturbed", "broken-watchdog-lenient": "undisturbed",
	"pg-cron": "undisturbed", "broken-pg-cron-forgets": "undisturbed", "broken-pg-cron-overlaps": "undisturbed",
	"broken-pg-cron-forever": "undisturbed", "broken-pg-cron-silent": "undisturbed", "broken-pg-cron-once": "undisturbed",
	"broken-pg-cron-leaves": "undisturbed", "pg-cron-exact": "undisturbed", "broken-pg-cron-marks-after": "undisturbed",
	"broken-pg-cron-marks-before": "undisturbed", "pg-cron-all": "undisturbed", "broken-pg-cron-skips": "undisturbed",
	"kubernetes-cron": "undisturbed", "broken-kubernetes-cron-patches": "undisturbed",
}

// TestEveryLockSaysHowItNotices: a claim that nobody has looked into is none.
func TestEveryLockSaysHowItNotices(t *testing.T) {
	for _, k := range locks() {
		want, known := noticesOf[k.Name]
		if got := noticing(k); known && got != want || !known && got != "none" {
			t.Errorf("%s notices a loss %s, want %q", k.Name, got, want)
		}
	}
}
