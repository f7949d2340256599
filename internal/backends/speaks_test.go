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
	for _, c := range []struct {
		program      *Program
		answer, want string
	}{
		{redisProgram, "+PONG\r\n", ""},
		{redisProgram, "-NOAUTH Authentication required.\r\n", "it wants a password: redis://"},
		{redisProgram, "-MISCONF no disk\r\n", "MISCONF no disk"},
		{redisProgram, "", "does not answer as redis does, and hangs up"},
		{redisProgram, "\x15\x03\x03\x00\x02", "it wants TLS"},
		{redisProgram, "HTTP/1.1 400 Bad Request\r\n", `does not answer as redis does, but with "HTTP/1.1 400`},
		{postgresProgram, "N", ""},
		{postgresProgram, "S", ""},
		{postgresProgram, "-ERR unknown command", "does not answer as postgres does"},
		{etcdProgram, "HTTP/1.1 200 OK\r\n\r\n{}", ""},
		{etcdProgram, "\x00\x00\x06\x04\x00\x00\x00\x00\x00", ""},
		{etcdProgram, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n", "it wants TLS"},
		{etcdProgram, "-ERR unknown command 'GET'", "does not answer as etcd does"},
		{zookeeperProgram, "Zookeeper version: 3.8.0\nMode: follower\n", ""},
		{zookeeperProgram, "srvr is not executed because it is not in the whitelist.\n", "4lw.commands.whitelist"},
		{zookeeperProgram, "This ZooKeeper instance is not currently serving requests\n", "not currently serving"},
		{zookeeperProgram, "+PONG", "does not answer as zookeeper does"},
		{&Program{Name: "another"}, "", ""},
	} {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			_, _ = bufio.NewReader(far).ReadByte()
			_, _ = far.Write([]byte(c.answer))
		}()
		err := Speaks(t.Context(), near, c.program)
		near.Close()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: %v, want %q", c.program.Name, c.answer, err, c.want)
		}
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	go func() { _, _ = bufio.NewReader(far).ReadByte() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := Speaks(ctx, near, redisProgram); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("who never answers: %v", err)
	}
}
