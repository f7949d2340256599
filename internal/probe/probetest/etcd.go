package probetest

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/sync/errgroup"
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
	return etcdMembers(t, ca, name, []string{"127.0.0.1"}, nil)[0]
}

// EtcdCluster starts an etcd of three members, and returns their ports. With an authority it is as
// Etcd has it, and each member announces a name of its own (etcd-1.NAME …), for which it has a
// certificate, as for the cluster's name. Without, there are neither TLS nor users, and members
// announce the loopback. announced, if any, is what a member announces in place of its own port.
func EtcdCluster(t testing.TB, ca *authority.Authority, name string, announced map[int]func(ports []string) string) (ports []string) {
	t.Helper()
	hosts := []string{"127.0.0.1", "127.0.0.1", "127.0.0.1"}
	for i := range hosts {
		if ca != nil {
			hosts[i] = fmt.Sprintf("etcd-%d.%s", i+1, name)
		}
	}
	return etcdMembers(t, ca, name, hosts, announced)
}

// etcdMembers starts a member for each host, which it announces.
func etcdMembers(t testing.TB, ca *authority.Authority, name string, hosts []string,
	announced map[int]func(ports []string) string) (ports []string) {
	t.Helper()
	scheme, cluster, peers := "http", "", []url.URL{}
	if ca != nil {
		scheme = "https"
	}
	for i := range hosts {
		ports = append(ports, FreePort(t))
		peers = append(peers, url.URL{Scheme: "http", Host: "127.0.0.1:" + FreePort(t)})
		cluster += fmt.Sprintf(",member-%d=%s", i, &peers[i])
	}
	var starting errgroup.Group // a member is ready when others are
	for i, host := range hosts {
		c := embed.NewConfig()
		c.Name, c.Dir, c.LogLevel, c.LogOutputs = fmt.Sprintf("member-%d", i), t.TempDir(), "error", []string{"/dev/null"}
		c.ListenClientUrls = []url.URL{{Scheme: scheme, Host: "127.0.0.1:" + ports[i]}}
		told := ports[i]
		if other := announced[i]; other != nil {
			told = other(ports)
		}
		c.AdvertiseClientUrls = []url.URL{{Scheme: scheme, Host: net.JoinHostPort(host, told)}}
		c.ListenPeerUrls, c.AdvertisePeerUrls, c.InitialCluster = peers[i:i+1], peers[i:i+1], cluster[1:]
		if ca != nil {
			also := func(c *x509.Certificate) {
				if len(hosts) > 1 {
					c.DNSNames = append(c.DNSNames, host)
				}
			}
			c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = ca.Issue(t, name, also)
			c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.ClientCertAuth = ca.File, true
			c.BcryptCost = 4 // the least, as logins take time: these passwords are no secret
		}
		e, err := embed.StartEtcd(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		starting.Go(func() error {
			select {
			case <-e.Server.ReadyNotify():
				return nil
			case <-time.After(decided.Limit):
				return errors.New("etcd is not ready")
			}
		})
	}
	if err := starting.Wait(); err != nil {
		t.Fatal(err)
	}
	if ca != nil {
		etcdUsers(t, ca, "127.0.0.1:"+ports[0], name)
	}
	return ports
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
