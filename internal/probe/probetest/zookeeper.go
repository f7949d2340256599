package probetest

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/endpoint/zkurl"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// netty are the jars that a ZooKeeper of Debian needs beside those that it names, for TLS.
const netty = ":/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar:/usr/share/java/netty-transport-native-unix-common.jar"

// ZooKeeper starts a ZooKeeper with TLS that wants clients' certificates, and returns its port on
// this machine. Its certificate is for the name; one that is changed is for errors alone. Only the
// user me may write under /lockchaos, and only the operator at the root.
func ZooKeeper(t testing.TB, ca *authority.Authority, name string, change ...func(*x509.Certificate)) (port string) {
	t.Helper()
	cert, key := ca.Issue(t, name, change...)
	dir := t.TempDir()
	own := filepath.Join(dir, "own.pem")
	var both []byte
	for _, file := range []string{key, cert} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, text...)
	}
	if err := os.WriteFile(own, both, 0o600); err != nil {
		t.Fatal(err)
	}
	port = FreePort(t)
	startZooKeeper(t, dir, port, fmt.Sprintf("secureClientPort=%s\nsecureClientPortAddress=127.0.0.1\n"+
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"+
		"ssl.keyStore.location=%s\nssl.keyStore.type=PEM\nssl.trustStore.location=%s\nssl.trustStore.type=PEM\nssl.clientAuth=need\n",
		port, own, ca.File))
	if len(change) == 0 {
		zookeeperUsers(t, ca, name, port)
	}
	return port
}

// ZooKeeperBySASL starts a ZooKeeper without TLS that serves who logs in by SASL, and no other.
func ZooKeeperBySASL(t testing.TB) (port string) {
	t.Helper()
	port = FreePort(t)
	dir := t.TempDir()
	users := filepath.Join(dir, "jaas.conf")
	if err := os.WriteFile(users, []byte("Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_me=\""+Secret+"\"; };\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	startZooKeeper(t, dir, port, "clientPort="+port+"\nclientPortAddress=127.0.0.1\n", "-Dzookeeper.sessionRequireClientSASLAuth=true",
		"-Dzookeeper.authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider", "-Djava.security.auth.login.config="+users)
	return port
}

func startZooKeeper(t testing.TB, dir, port, settings string, flags ...string) {
	t.Helper()
	classes, err := backends.FindZooKeeper()
	needed.Be(t, err)
	java, err := backends.FindJava()
	needed.Be(t, err)
	config := filepath.Join(dir, "zoo.cfg")
	settings = "tickTime=200\nminSessionTimeout=1000\nmaxSessionTimeout=120000\nadmin.enableServer=false\nmaxClientCnxns=0\n" +
		"dataDir=" + dir + "\n" + settings
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-Xrs", // a SIGQUIT ends it
		"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"}, flags...)
	Start(t, "127.0.0.1:"+port, exec.Command(java, append(args, "-cp", classes+netty, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)...))
}

// zookeeperUsers waits until the server serves, and says who may do what.
func zookeeperUsers(t testing.TB, ca *authority.Authority, name, port string) {
	t.Helper()
	at, err := endpoint.Parse("zks://operator:operator@" + name + ":" + port)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := ca.Issue(t, "operator")
	servers, err := zkurl.Open([]string{at.With(endpoint.Files{CACert: ca.File, Cert: cert, Key: key}).Address()}, Here)
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := servers.Connect(time.Minute, servers.Dial, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	do := func(what func() error) {
		t.Helper()
		for end := time.Now().Add(decided.Limit); ; {
			err := what()
			if err == nil {
				return
			}
			if !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) || time.Now().After(end) {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	do(func() error { return servers.LogIn(conn) })
	do(func() error {
		_, err := conn.Create("/lockchaos", nil, 0, append(zk.DigestACL(zk.PermAll, "me", Secret), zk.DigestACL(zk.PermRead, "reader", Secret)...))
		return err
	})
	do(func() error {
		_, err := conn.SetACL("/", append(zk.DigestACL(zk.PermAll, "operator", "operator"), zk.WorldACL(zk.PermRead)...), -1)
		return err
	})
}
