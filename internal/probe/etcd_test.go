package probe_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// An etcd with TLS, clients' certificates and users is met as its address says, or the error says
// what to do; and it is probed by a user who may no more than what locks do.
func TestEtcd(t *testing.T) {
	t.Parallel()
	ca, strange := authority.New(t), authority.New(t)
	port := probetest.Etcd(t, ca, "etcd.test")
	cert, key := ca.Issue(t, "me")
	with := endpoint.Files{CACert: ca.File, Cert: cert, Key: key}
	service, _ := probe.Lookup("etcd")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	for name, c := range map[string]struct {
		address string
		files   endpoint.Files
		want    string
	}{
		"as it should be":          {"https://me:pass%2Fword@etcd.test:" + port, with, ""},
		"no certificate":           {"https://me:pass%2Fword@etcd.test:" + port, endpoint.Files{CACert: ca.File}, "give --cert and --key"},
		"another authority":        {"https://me:pass%2Fword@etcd.test:" + port, endpoint.Files{CACert: strange.File, Cert: cert, Key: key}, "--cacert FILE"},
		"another name":             {"https://me:pass%2Fword@other.test:" + port, with, "its certificate is for other names (etcd.test)"},
		"a wrong password":         {"https://me:wrong@etcd.test:" + port, with, "log in: etcdserver: authentication failed"},
		"the certificate's user":   {"https://etcd.test:" + port, with, ""},
		"a missing right":          {"https://reader:pass%2Fword@etcd.test:" + port, with, "reader may not do what locks need: etcdserver: permission denied"},
		"without TLS":              {"http://me:pass%2Fword@etcd.test:" + port, endpoint.Files{}, "does it want TLS"},
		"a name that is not known": {"https://me:x@etcd.invalid:" + port, with, "knows no host of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := service.Meet(ctx, parsed(t, c.address, c.files), here)
			if c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "pass/word") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	// one who may write what a probe writes, and not what locks do
	half := parsed(t, "https://half:pass%2Fword@etcd.test:"+port, with)
	if err := service.Meet(ctx, half, here); err == nil || !strings.Contains(err.Error(), "half may not do what locks need") {
		t.Errorf("with half of the rights: %v", err)
	}
	at := parsed(t, "https://me:pass%2Fword@etcd.test:"+port, with)
	checkFacts(t, ctx, service, at, "version", "etcd 3.", "role", "leader", "replication", "members")
	checkRace(t, ctx, service, at, 3)
}

// An etcd tells of its members, each where it announces itself. One that answers there as another,
// or not at all, is told with the reason: faults can't be aimed at it.
func TestEtcdMembers(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	cert, key := ca.Issue(t, "me")
	sealed := probetest.EtcdCluster(t, ca, "etcd.test", nil)
	first := func(ports []string) string { return ports[0] }
	nowhere := func([]string) string { return probetest.FreePort(t) }
	plain := probetest.EtcdCluster(t, nil, "", map[int]func([]string) string{1: first, 2: nowhere})
	service, _ := probe.Lookup("etcd")
	for name, c := range map[string]struct {
		at    endpoint.Endpoint
		names []string
		unmet string // of all that are not the member that they say
	}{
		"TLS": {parsed(t, "https://me:pass%2Fword@etcd.test:"+sealed[1], endpoint.Files{CACert: ca.File, Cert: cert, Key: key}),
			[]string{"etcd-1.etcd.test:" + sealed[0], "etcd-2.etcd.test:" + sealed[1], "etcd-3.etcd.test:" + sealed[2]}, ""},
		"wrong": {parsed(t, "127.0.0.1:"+plain[2], endpoint.Files{}), nil, "another member answers there no server listens there"},
		"alone": {parsed(t, "https://me:pass%2Fword@etcd.test:"+probetest.Etcd(t, ca, "etcd.test"),
			endpoint.Files{CACert: ca.File, Cert: cert, Key: key}), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
			defer cancel()
			all, err := service.Members(ctx, c.at, here)
			if err != nil {
				t.Fatal(err)
			}
			var names, unmet []string
			for _, m := range all {
				names = append(names, m.At)
				if m.Unmet != nil {
					unmet = append(unmet, m.Unmet.Error())
				}
			}
			slices.Sort(unmet)
			if c.unmet == "" && (!slices.Equal(names, c.names) || unmet != nil) {
				t.Errorf("members %q, unmet %q", names, unmet)
			}
			for _, want := range []string{"another member answers there", "no server listens there"} {
				if strings.Contains(c.unmet, want) && !strings.Contains(strings.Join(unmet, " "), want) {
					t.Errorf("unmet: %q; want %s", unmet, want)
				}
			}
		})
	}
}
