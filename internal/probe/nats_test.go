package probe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A NATS server with TLS and users, by password or by a file of credentials, is met as its address
// says, or the error says what to do; and it is probed by a user who may do no more than locks do.
func TestNATS(t *testing.T) {
	t.Parallel()
	ca, strange := authority.New(t), authority.New(t)
	port := probetest.NATS(t, ca, "nats.test", authority.Good)
	old := probetest.NATS(t, ca, "nats.test", authority.Expired)
	strict := probetest.NATS(t, ca, "nats.test", authority.Good, probetest.WithClientCertificates)
	signed, creds := probetest.NATSByCreds(t, ca, "nats.test")
	cert, key := ca.Issue(t, "me")
	good := endpoint.Files{CACert: ca.File}
	cases := map[string]meeting{
		"as it should be":          {"tls://me:pass%2Fword@nats.test:" + port, good, ""},
		"a client's certificate":   {"tls://me:pass%2Fword@nats.test:" + strict, endpoint.Files{CACert: ca.File, Cert: cert, Key: key}, ""},
		"credentials":              {"tls://nats.test:" + signed + "?creds=" + creds, good, ""},
		"no credentials":           {"tls://nats.test:" + signed, good, "log in: nats: Authorization Violation"},
		"no file of credentials":   {"tls://nats.test:" + signed + "?creds=/nowhere", good, "open /nowhere"},
		"an authority unknown":     {"tls://me:pass%2Fword@nats.test:" + port, endpoint.Files{CACert: strange.File}, "--cacert FILE"},
		"expired":                  {"tls://me:pass%2Fword@nats.test:" + old, good, "renew it on the server"},
		"another name":             {"tls://me:pass%2Fword@other.test:" + port, good, "its certificate is for other names (nats.test)"},
		"a certificate is wanted":  {"tls://me:pass%2Fword@nats.test:" + strict, good, "--cert"},
		"a wrong password":         {"tls://me:wrong@nats.test:" + port, good, "log in: nats: Authorization Violation"},
		"a missing right":          {"tls://reader:pass%2Fword@nats.test:" + port, good, "reader may not do what locks need: nats: permissions violation"},
		"without TLS":              {"nats://me:pass%2Fword@nats.test:" + port, good, "does it want TLS"},
		"a name that is not known": {"tls://me:x@nats.invalid:" + port, good, "knows no host of that name"},
		"no server":                {"tls://me:x@nats.test:1", good, "no server listens there"},
	}
	service, _ := probe.Lookup("nats")
	checkMeetings(t, service, cases)
	t.Run("facts", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
		defer cancel()
		at := parsed(t, "tls://me:pass%2Fword@nats.test:"+port, good)
		checkRace(t, ctx, service, at, 3)
		checkFacts(t, ctx, service, at, "version", "NATS 2.", "role", "no cluster", "replication", "one server that is away stops all locks",
			"persistence", "in files", "eviction", "none", "limits", "bytes a message")
	})
}

// meeting is one server that is met, or what is wrong with it.
type meeting struct {
	address string
	files   endpoint.Files
	want    string // "": all is well
}

// checkMeetings holds each meeting to end as it should, and to tell no password.
func checkMeetings(t *testing.T, service probe.Service, all map[string]meeting) {
	t.Helper()
	t.Run("meet", func(t *testing.T) {
		for name, m := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
				defer cancel()
				var err error
				decided.Run(t, func() {
					err = service.Meet(ctx, parsed(t, m.address, m.files), here)
					if tooLate(err) && (m.want == "" || !strings.Contains(err.Error(), m.want)) {
						decided.Lacks("an answer in time: %v", err)
					}
				})
				if text := fmt.Sprint(err); m.want == "" && err != nil || !strings.Contains(text, m.want) ||
					strings.Contains(text, probetest.Secret) || strings.Contains(text, probetest.Token) {
					t.Errorf("%v; want %q", err, m.want)
				}
			})
		}
	})
}
