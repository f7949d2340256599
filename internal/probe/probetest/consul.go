package probetest

import (
	"context"
	"crypto/x509"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/endpoint/consulurl"
	"github.com/lockchaos/lockchaos/internal/hosts/cache"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// The tokens of Consul: of him who may do what locks do, of one who may not write, and of the
// operator.
const (
	Token         = "3f1c9a52-7d0e-4b8a-9c61-5e2f8d4b7a10"
	ReaderToken   = "8a6e4c1d-2b95-4f37-a0d8-9c3b7e5f1264"
	operatorToken = "c7d2e8f4-6a13-4d59-b8e0-1f4a9c6b3d75"
)

// ConsulRights are what docs/external.md says that the token of locks must allow.
const ConsulRights = `key_prefix "lockchaos" { policy = "write" }
session_prefix "" { policy = "write" }
agent_prefix "" { policy = "read" }
`

// consulReads may see what ConsulRights may, and change nothing.
const consulReads = `key_prefix "lockchaos" { policy = "read" }
session_prefix "" { policy = "write" }
agent_prefix "" { policy = "read" }
`

// Consul starts a Consul with TLS and ACLs, which denies what no token allows, and returns its port
// on this machine. Its certificate is for the name; one that is changed is for errors alone, and no
// token is made. strict: it wants clients' certificates.
func Consul(t testing.TB, ca *authority.Authority, name string, strict bool, change ...func(*x509.Certificate)) (port string) {
	t.Helper()
	needed.Later(t, "a Consul that must be built")
	program, err := cache.Find("servers", "consul")
	if program == "" && err == nil {
		program = needed.Program(t, "consul")
	}
	needed.Be(t, err)
	cert, key := ca.Issue(t, name, change...)
	port = FreePort(t)
	settings := fmt.Sprintf(`ports { http = -1, https = %s, server = %s, serf_lan = %s, serf_wan = -1, dns = -1, grpc = -1, grpc_tls = -1 }
tls { https { ca_file = %q, cert_file = %q, key_file = %q, verify_incoming = %t } }
acl { enabled = true, default_policy = "deny", tokens { initial_management = %q, agent = %q } }
performance { raft_multiplier = 1 }
connect { enabled = false }
session_ttl_min = "1s"
limits { http_max_conns_per_client = 10000 }
disable_update_check = true
`, port, FreePort(t), FreePort(t), ca.File, cert, key, strict, operatorToken, operatorToken)
	Start(t, "127.0.0.1:"+port, exec.Command(program, "agent", "-server", "-bootstrap-expect", "1", "-node", "consul", "-data-dir", t.TempDir(),
		"-bind", "127.0.0.1", "-client", "127.0.0.1", "-hcl", settings))
	if len(change) == 0 {
		consulTokens(t, ca, name, port)
	}
	return port
}

// consulTokens waits until the server serves, and makes the tokens.
func consulTokens(t testing.TB, ca *authority.Authority, name, port string) {
	t.Helper()
	at, err := endpoint.Parse("https://:" + operatorToken + "@" + name + ":" + port)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := ca.Issue(t, "operator")
	config, transport, err := consulurl.Config([]string{at.With(endpoint.Files{CACert: ca.File, Cert: cert, Key: key}).Address()}, Here)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	c, err := api.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	write := (&api.WriteOptions{}).WithContext(ctx)
	for called, rights := range map[string]string{Token: ConsulRights, ReaderToken: consulReads} {
		policy := &api.ACLPolicy{Name: "for-" + called, Rules: rights}
		for made := false; !made; {
			if _, _, err = c.ACL().PolicyCreate(policy, write); err == nil {
				made = true
				continue
			}
			select { // it has no leader yet
			case <-ctx.Done():
				t.Fatal(err)
			case <-time.After(50 * time.Millisecond):
			}
		}
		token := &api.ACLToken{SecretID: called, Policies: []*api.ACLLink{{Name: policy.Name}}}
		if _, _, err := c.ACL().TokenCreate(token, write); err != nil {
			t.Fatal(err)
		}
	}
}
