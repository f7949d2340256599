package remote_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// BenchmarkRelay is the round trip of a SET in TLS, to a redis-server directly and through a relay.
func BenchmarkRelay(b *testing.B) {
	ca := authority.New(b)
	direct := "127.0.0.1:" + probetest.Redis(b, ca, "cache.test", authority.Good)
	dial := func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", direct) }
	for name, addr := range map[string]string{"direct": direct, "relay": remote.Relayed(b, dial)} {
		b.Run(name, func(b *testing.B) { roundTrips(b, ca, addr) })
	}
}

func roundTrips(b *testing.B, ca *authority.Authority, addr string) {
	at, err := endpoint.Parse("rediss://cache.test")
	if err != nil {
		b.Fatal(err)
	}
	dial, err := at.With(endpoint.Files{CACert: ca.File}).Dialer(new(net.Dialer).DialContext)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := dial(b.Context(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	ask := func(command string) {
		if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
			b.Fatal(err)
		}
		if answer, err := answers.ReadString('\n'); err != nil || answer != "+OK\r\n" {
			b.Fatalf("%s: %q, %v", command, answer, err)
		}
	}
	ask("AUTH me " + probetest.Secret)
	for b.Loop() {
		ask("SET lockchaos_bench x")
	}
}
