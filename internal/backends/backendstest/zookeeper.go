package backendstest

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// Lasting is of sessions that have nothing to fear from a busy machine: what ends, somebody ended.
const Lasting = 20 * time.Second

// ZooKeeper connects to a member.
func ZooKeeper(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect([]string{addr}, Lasting, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
