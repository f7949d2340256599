package zookeeper_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// zooProxy passes everything on. When armed, it once keeps the reply to a
// create for itself and closes the connection.
func zooProxy(t *testing.T, server string, armed *atomic.Bool) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			var wanted atomic.Int32 // the number of the request whose reply is kept
			go frames(client, up, func(f []byte) bool {
				const create = 1
				if len(f) >= 8 && binary.BigEndian.Uint32(f[4:]) == create && armed.Swap(false) {
					wanted.Store(int32(binary.BigEndian.Uint32(f)))
				}
				return true
			})
			go frames(up, client, func(f []byte) bool {
				return len(f) < 4 || wanted.Load() == 0 || int32(binary.BigEndian.Uint32(f)) != wanted.Load()
			})
		}
	}()
	return l.Addr().String()
}

// frames copies messages, each with its length before it, for as long as pass
// allows it, and then closes both ends.
func frames(from, to net.Conn, pass func([]byte) bool) {
	defer from.Close()
	defer to.Close()
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(from, body); err != nil || !pass(body) {
			return
		}
		if _, err := to.Write(append(head, body...)); err != nil {
			return
		}
	}
}

// zooSilence: the holder learns that it can't count on its session while nobody
// answers, so before ZooKeeper could give the lock to another.
func zooSilence(b zooBench) {
	l := backendstest.Open(b.T, zookeeper.Recipe, b.service, time.Second, 1)
	g := b.acquire(l, "silence")
	stop, resume := freezeEnsemble(b.service)
	stop(b.T)
	select {
	case loss := <-l.(clients.Watcher).Lost():
		if loss.Key != "silence" || loss.Token != g.Token || loss.Why == "" {
			b.Errorf("%+v", loss)
		}
	case <-backendstest.Limit(b).Done():
		b.Error("nobody told")
	}
	if err := l.(clients.Holder).Held(backendstest.Limit(b), g); !errors.Is(err, clients.ErrNotHeld) {
		b.Errorf("held: %v", err)
	}
	resume(b.T)
	other := b.open(zookeeper.Recipe, 2)
	b.acquire(other, "silence")
}
