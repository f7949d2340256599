package probetest

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/endpoint/etcdurl"
)

// named begins the names that the users may use.
const named = "lockchaos"

// Etcd starts an etcd with TLS that wants clients' certificates, and returns its port on this
// machine. Its certificate is for the name. The user me may do what locks do, reader may not
// write, and half may write what begins with lockchaos_ alone.
func Etcd(t testing.TB, ca *authority.Authority, name string) (port string) {
	t.Helper()
	free := func(scheme string) url.URL { return url.URL{Scheme: scheme, Host: "127.0.0.1:" + FreePort(t)} }
	c := embed.NewConfig()
	c.Dir, c.LogLevel, c.LogOutputs = t.TempDir(), "error", []string{"/dev/null"}
	clients, peers := free("https"), free("http")
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = ca.Issue(t, name)
	c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.ClientCertAuth = ca.File, true
	c.BcryptCost = 4 // the least, as logins take time: these passwords are no secret
	e, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(decided.Limit):
		t.Fatal("etcd is not ready")
	}
	etcdUsers(t, ca, clients.Host, name)
	return clients.Port()
}

// etcdUsers makes the users, and switches authentication on.
func etcdUsers(t testing.TB, ca *authority.Authority, at, name string) {
	t.Helper()
	cert, key := ca.Issue(t, "root")
	own, err := endpoint.Parse("https://" + name + at[strings.LastIndex(at, ":"):])
	if err != nil {
		t.Fatal(err)
	}
	config, err := etcdurl.Config([]string{own.With(endpoint.Files{CACert: ca.File, Cert: cert, Key: key}).Address()})
	if err != nil {
		t.Fatal(err)
	}
	config.DialOptions = append(config.DialOptions, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", at)
	}))
	c, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for user, may := range map[string]clientv3.PermissionType{
		"me":     clientv3.PermissionType(clientv3.PermReadWrite),
		"reader": clientv3.PermissionType(clientv3.PermRead),
	} {
		do(c.RoleAdd(ctx, user))
		do(c.RoleGrantPermission(ctx, user, named, clientv3.GetPrefixRangeEnd(named), may))
		do(c.UserAdd(ctx, user, Secret))
		do(c.UserGrantRole(ctx, user, user))
	}
	do(c.RoleAdd(ctx, "half"))
	do(c.RoleGrantPermission(ctx, "half", "lockchaos_", clientv3.GetPrefixRangeEnd("lockchaos_"), clientv3.PermissionType(clientv3.PermReadWrite)))
	do(c.UserAdd(ctx, "half", Secret))
	do(c.UserGrantRole(ctx, "half", "half"))
	do(c.UserAdd(ctx, "root", "rooted"))
	do(c.UserGrantRole(ctx, "root", "root"))
	do(c.AuthEnable(ctx))
}
