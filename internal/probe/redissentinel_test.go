package probe_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// A sentinel tells of its primary, of the replica and of the other sentinels, and the primary is
// raced on. Sentinels ask for no password here, and the servers do.
func TestSentinels(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	servers, watching, line := probetest.Sentinels(t, ca, redisName)
	service, _ := probe.Lookup("redis-sentinel")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	at := parsed(t, "rediss+sentinel://:pass%2Fword@"+redisName+":"+watching[2]+"/"+probetest.Watched, endpoint.Files{CACert: ca.File})
	if err := service.Meet(ctx, at, here); err != nil {
		t.Fatal(err)
	}
	checkFacts(t, ctx, service, at, "version", "Redis ", "role", "master", "replication", "1 replicas", "sentinels",
		"they watch mymaster at 127.0.0.1:"+servers[0]+", epoch 0; others 2, quorum 2, replicas 1")
	checkRace(t, ctx, service, at, 3)
	all, err := service.Members(ctx, at, here)
	if err != nil {
		t.Fatal(err)
	}
	replicas, sentinels, also := 0, 0, ""
	for _, m := range all {
		if m.Replica {
			replicas++
		}
		if m.Sentinel {
			sentinels++
		}
		for _, other := range m.Also {
			also += m.At + "=" + other
		}
	}
	if want := redisName + ":" + watching[2] + "=127.0.0.1:" + watching[2]; len(all) != 5 || replicas != 1 || sentinels != 3 || also != want {
		t.Errorf("%+v, want %s", all, want)
	}
	gone := line(watching[0])
	_ = exec.Command(gone[0], append(gone[1:], "SHUTDOWN")...).Run() // it answers by its end
	decided.Await(t, "the sentinel that is gone is left out", func() bool {
		all, err := service.Members(ctx, at, here)
		isGone := func(m probe.Member) bool { return strings.HasSuffix(m.At, ":"+watching[0]) }
		return err == nil && len(all) == 4 && !slices.ContainsFunc(all, isGone)
	})
}

// A server that names a primary as no sentinel does is told as that.
func TestNoSentinel(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerAsNoSentinel(c)
		}
	}()
	service, _ := probe.Lookup("redis-sentinel")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit/10)
	defer cancel()
	err = service.Meet(ctx, parsed(t, "redis+sentinel://"+l.Addr().String()+"/mymaster", endpoint.Files{}), here)
	if err == nil || !strings.Contains(err.Error(), "is that the address of a sentinel?") {
		t.Error(err)
	}
}

// answerAsNoSentinel answers HELLO as an old Redis does, and each PING, and names a primary without
// a port.
func answerAsNoSentinel(c net.Conn) {
	defer c.Close()
	for words := bufio.NewScanner(c); words.Scan(); {
		answer := ""
		switch strings.ToLower(words.Text()) {
		case "hello":
			answer = "-ERR unknown command\r\n"
		case "ping":
			answer = "+PONG\r\n"
		case "get-master-addr-by-name":
			answer = "*1\r\n$1\r\nx\r\n"
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}
