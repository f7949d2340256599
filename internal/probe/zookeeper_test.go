package probe_test

import (
	"context"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A ZooKeeper with TLS, clients' certificates and users is met as its address says, or the error
// says what to do, also where the server wants what the library cannot.
func TestZooKeeper(t *testing.T) {
	t.Parallel()
	ca, strange := authority.New(t), authority.New(t)
	port := probetest.ZooKeeper(t, ca, "zk.test")
	old := probetest.ZooKeeper(t, ca, "zk.test", authority.Expired)
	sasl := probetest.ZooKeeperBySASL(t)
	cert, key := ca.Issue(t, "me")
	with := endpoint.Files{CACert: ca.File, Cert: cert, Key: key}
	service, _ := probe.Lookup("zookeeper")
	checkMeetings(t, service, map[string]meeting{
		"as it should be":          {"zks://me:pass%2Fword@zk.test:" + port, with, ""},
		"another authority":        {"zks://me:pass%2Fword@zk.test:" + port, endpoint.Files{CACert: strange.File, Cert: cert, Key: key}, "--cacert FILE"},
		"expired":                  {"zks://me:pass%2Fword@zk.test:" + old, with, "renew it on the server"},
		"another name":             {"zks://me:pass%2Fword@other.test:" + port, with, "its certificate is for other names (zk.test)"},
		"no certificate":           {"zks://me:pass%2Fword@zk.test:" + port, endpoint.Files{CACert: ca.File}, "--cert"},
		"a wrong password":         {"zks://me:wrong@zk.test:" + port, with, "me may not do what locks need: zk: not authenticated"},
		"a missing right":          {"zks://reader:pass%2Fword@zk.test:" + port, with, "reader may not do what locks need: zk: not authenticated"},
		"without TLS":              {"zk://me:pass%2Fword@zk.test:" + port, endpoint.Files{}, "does it want TLS"},
		"a name that is not known": {"zks://me:x@zk.invalid:" + port, with, "knows no host of that name"},
		"SASL":                     {"zk://me:x@zk.test:" + sasl, endpoint.Files{}, "log in by SASL, which the Go library for ZooKeeper cannot"},
	})
	t.Run("facts", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
		defer cancel()
		at := parsed(t, "zks://me:pass%2Fword@zk.test:"+port, with)
		checkFacts(t, ctx, service, at, "version", "ZooKeeper 3.", "role", "standalone", "replication", "a server alone")
		checkRace(t, ctx, service, at, 2)
	})
}
