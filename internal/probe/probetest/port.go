package probetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports that tests are given: below those that Linux takes for the client's end of a connection
// (32768 to 60999), and so far below that a Redis Cluster's bus, 10,000 above its port, is, too.
const firstPort, ports = 10_000, 10_000

// FreePort is a port of the loopback that nothing listens on, and that no other test is given until
// this one is over.
func FreePort(t testing.TB) string {
	t.Helper()
	port, release, err := Port()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return port
}

// Port is FreePort for what outlives a test: no other is given the port until release is called.
// "A port that was free a moment ago" may be another's when the server starts.
func Port() (port string, release func(), err error) {
	for range 1000 {
		port = strconv.Itoa(firstPort + rand.IntN(ports))
		// an abstract socket says so to tests of other processes, and is gone with this one
		claim, err := net.Listen("unix", fmt.Sprintf("@lockchaos-test-port-%s", port))
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			l.Close()
			return port, func() { claim.Close() }, nil
		}
		claim.Close()
	}
	return "", nil, errors.New("no port of the loopback is free")
}
