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

// A Consul with TLS and ACLs is met as its address says, or the error says what to do; and it is
// probed by a token that allows no more than what locks do.
func TestConsul(t *testing.T) {
	t.Parallel()
	ca, strange := authority.New(t), authority.New(t)
	port := probetest.Consul(t, ca, "consul.test", false)
	old := probetest.Consul(t, ca, "consul.test", false, authority.Expired)
	strict := probetest.Consul(t, ca, "consul.test", true)
	cert, key := ca.Issue(t, "me")
	good := endpoint.Files{CACert: ca.File}
	const me = "https://:" + probetest.Token + "@"
	service, _ := probe.Lookup("consul")
	checkMeetings(t, service, map[string]meeting{
		"as it should be":          {me + "consul.test:" + port, good, ""},
		"a client's certificate":   {me + "consul.test:" + strict, endpoint.Files{CACert: ca.File, Cert: cert, Key: key}, ""},
		"another authority":        {me + "consul.test:" + port, endpoint.Files{CACert: strange.File}, "--cacert FILE"},
		"expired":                  {me + "consul.test:" + old, good, "renew it on the server"},
		"another name":             {me + "other.test:" + port, good, "its certificate is for other names (consul.test)"},
		"a certificate is wanted":  {me + "consul.test:" + strict, good, "--cert"},
		"a wrong token":            {"https://:11111111-2222-3333-4444-555555555555@consul.test:" + port, good, "log in: "},
		"no token":                 {"https://consul.test:" + port, good, "the user may not do what locks need: Permission denied"},
		"a missing right":          {"https://:" + probetest.ReaderToken + "@consul.test:" + port, good, "may not do what locks need: Permission denied"},
		"without TLS":              {"http://:" + probetest.Token + "@consul.test:" + port, good, "does it want TLS"},
		"a name that is not known": {me + "consul.invalid:" + port, good, "knows no host of that name"},
	})
	t.Run("facts", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
		defer cancel()
		at := parsed(t, me+"consul.test:"+port, good)
		checkFacts(t, ctx, service, at, "version", "Consul 1.", "role", "the leader is 127.0.0.1", "replication", "fewer than three servers",
			"limits", "sessions of 1s or longer")
		checkRace(t, ctx, service, at, 2)
	})
}
