package probetest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
)

// NATSRights are the subjects that docs/external.md says that the user of locks must publish to.
var NATSRights = []string{"$JS.API.INFO", "$JS.API.STREAM.*.KV_lockchaos", "$JS.API.STREAM.MSG.GET.KV_lockchaos",
	"$JS.API.DIRECT.GET.KV_lockchaos.>", "$KV.lockchaos.>"}

// NATS starts a NATS server with TLS, JetStream and users, and returns its port on this machine.
// Its certificate is for the name. The user me may do what locks do, reader may not write keys.
func NATS(t testing.TB, ca *authority.Authority, name string, change func(*x509.Certificate),
	more ...func(*server.Options)) (port string) {
	t.Helper()
	rights := func(subjects ...string) *server.Permissions {
		return &server.Permissions{Publish: &server.SubjectPermission{Allow: subjects},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}
	}
	o := natsOptions(t, ca, name, change)
	o.Users = []*server.User{{Username: "me", Password: Secret, Permissions: rights(NATSRights...)},
		{Username: "reader", Password: Secret, Permissions: rights("$JS.API.>")}}
	for _, f := range more {
		f(o)
	}
	return startNATS(t, o)
}

// WithClientCertificates has a NATS server want clients' certificates.
func WithClientCertificates(o *server.Options) {
	o.TLSConfig.ClientAuth = tls.RequireAndVerifyClientCert
}

// NATSByCreds starts a NATS server whose users have credentials that an operator has signed, and
// returns its port and the file of one.
func NATSByCreds(t testing.TB, ca *authority.Authority, name string) (port, creds string) {
	t.Helper()
	operator, operatorID := keyPair(t, nkeys.CreateOperator)
	account, accountID := keyPair(t, nkeys.CreateAccount)
	_, systemID := keyPair(t, nkeys.CreateAccount)
	own := jwt.NewAccountClaims(accountID)
	own.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit,
		Consumer: jwt.NoLimit}
	trusted := jwt.NewOperatorClaims(operatorID)
	trusted.SystemAccount = systemID
	signed(t, trusted, operator)
	known := &server.MemAccResolver{}
	for _, claims := range []*jwt.AccountClaims{own, jwt.NewAccountClaims(systemID)} {
		if err := known.Store(claims.Subject, signed(t, claims, operator)); err != nil {
			t.Fatal(err)
		}
	}
	o := natsOptions(t, ca, name, authority.Good)
	o.TrustedOperators, o.AccountResolver, o.SystemAccount = []*jwt.OperatorClaims{trusted}, known, systemID
	return startNATS(t, o), userCreds(t, account)
}

// userCreds is the file of a new user's credentials, which the account signs.
func userCreds(t testing.TB, account nkeys.KeyPair) (file string) {
	t.Helper()
	user, userID := keyPair(t, nkeys.CreateUser)
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(signed(t, jwt.NewUserClaims(userID), account), seed)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "me.creds")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func keyPair(t testing.TB, make func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public string) {
	t.Helper()
	key, err := make()
	if err == nil {
		public, err = key.PublicKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

// signed is what the claims are after they were signed, which fills in who did it.
func signed(t testing.TB, claims jwt.Claims, by nkeys.KeyPair) string {
	t.Helper()
	text, err := claims.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func natsOptions(t testing.TB, ca *authority.Authority, name string, change func(*x509.Certificate)) *server.Options {
	t.Helper()
	cert, key := ca.Issue(t, name, change)
	own, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := os.ReadFile(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(trusted)
	return &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, ClientCAs: clients, MinVersion: tls.VersionTLS12},
		// a busy machine is slow
		TLSTimeout: decided.Limit.Seconds(), AuthTimeout: decided.Limit.Seconds()}
}

func startNATS(t testing.TB, o *server.Options) (port string) {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	s.Start()
	if !s.ReadyForConnections(decided.Limit) {
		t.Fatal("NATS is not ready")
	}
	return fmt.Sprint(s.Addr().(*net.TCPAddr).Port)
}
