package backends

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// A server is taken for what it says that it is, and each wrong address has its reason.
func TestSpeaks(t *testing.T) {
	for _, c := range []struct{ image, answer, want string }{
		{"redis", "+PONG\r\n", ""},
		{"redis", "-NOAUTH Authentication required.\r\n", "it wants a password: redis://"},
		{"redis", "-MISCONF no disk\r\n", "MISCONF no disk"},
		{"redis", "", "does not answer as redis does, and hangs up"},
		{"redis", "\x15\x03\x03\x00\x02", "it wants TLS"},
		{"redis", "HTTP/1.1 400 Bad Request\r\n", `does not answer as redis does, but with "HTTP/1.1 400`},
		{"postgres", "N", ""},
		{"postgres", "S", ""},
		{"postgres", "-ERR unknown command", "does not answer as postgres does"},
		{"etcd", "HTTP/1.1 200 OK\r\n\r\n{}", ""},
		{"etcd", "\x00\x00\x06\x04\x00\x00\x00\x00\x00", ""},
		{"etcd", "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", "it wants TLS"},
		{"etcd", "-ERR unknown command 'GET'", "does not answer as etcd does"},
		{"zookeeper", "Zookeeper version: 3.8.0\nMode: follower\n", ""},
		{"zookeeper", "srvr is not executed because it is not in the whitelist.\n", "4lw.commands.whitelist"},
		{"zookeeper", "This ZooKeeper instance is not currently serving requests\n", "not currently serving"},
		{"zookeeper", "+PONG", "does not answer as zookeeper does"},
		{"another", "", ""},
	} {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			_, _ = bufio.NewReader(far).ReadByte()
			_, _ = far.Write([]byte(c.answer))
		}()
		err := Speaks(t.Context(), near, c.image)
		near.Close()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: %v, want %q", c.image, c.answer, err, c.want)
		}
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	go func() { _, _ = bufio.NewReader(far).ReadByte() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := Speaks(ctx, near, "redis"); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("who never answers: %v", err)
	}
}
