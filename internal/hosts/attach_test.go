//go:build linux

package hosts_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// A process that somebody else started is stopped, watched and let go like one
// of ours, and lives on when its host is closed.
func TestAttach(t *testing.T) {
	if !inside(t) {
		return
	}
	_, made := network(t, "own")
	own := made[0]
	started, err := own.Start(exec.Command("/proc/self/exe", "forever"))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "node.log")
	if err := os.WriteFile(log, []byte("the last words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, p, err := hosts.Attach("guest", started.PID(), own.Addr, log)
	if err != nil {
		t.Fatal(err)
	}
	pause, err := p.Stop(within(t))
	if err != nil {
		t.Fatal(err)
	}
	// A stopped one is refused by name, with the remedy, and left as it is.
	_, _, err = hosts.Attach("stopped-node", started.PID(), own.Addr, log)
	if remedy := fmt.Sprintf("kill -CONT %d", started.PID()); !errors.Is(err, hosts.ErrStopped) ||
		!strings.Contains(err.Error(), "stopped-node") ||
		!strings.Contains(err.Error(), remedy) {
		t.Errorf("attached to a stopped process: %v", err)
	}
	if err := pause.Resume(); err != nil { // it tells if they ran meanwhile
		t.Fatal(err)
	}
	if again, _, err := hosts.Attach("guest", started.PID(), own.Addr, log); err != nil || again.Close() != nil {
		t.Errorf("attach once it runs on: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if started.Err() != nil || p.Err() != nil || p.Gone() != 0 {
		t.Errorf("closing an attached host ended its process: %v, %v", started.Err(), p.Err())
	}
	if err := p.Kill(within(t)); err != nil {
		t.Fatal(err)
	}
	var died *hosts.DiedError
	if err := p.Wait(within(t)); !errors.As(err, &died) || !strings.Contains(err.Error(), "the last words") || p.Gone() == 0 {
		t.Errorf("after its death: %v, gone %d", err, p.Gone())
	}
	if _, _, err := hosts.Attach("guest", started.PID(), own.Addr, log); !errors.As(err, &died) {
		t.Errorf("attached to a dead process: %v", err)
	}
}

// A process may end while it is attached to. It has, for all but its parent,
// when that has not looked yet.
func TestAttachTooLate(t *testing.T) {
	if !inside(t) {
		return
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	decided.Await(t, "the process has ended", func() bool {
		_, after, _ := strings.Cut(read(t, fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)), ") ")
		return strings.HasPrefix(after, "Z")
	})
	var died *hosts.DiedError
	if _, _, err := hosts.Attach("guest", cmd.Process.Pid, hosts.DefaultPrefix.Addr(), ""); !errors.As(err, &died) {
		t.Errorf("attached to a process that has ended: %v", err)
	}
}

// A process that ends has lost its namespaces a moment before anybody can see
// that it has ended. A caller that attaches in that moment is told of the death, too.
func TestAttachWhileItEnds(t *testing.T) {
	if !inside(t) {
		return
	}
	_, made := network(t, "own")
	own := made[0]
	for range 30 {
		cmd := exec.Command("/proc/self/exe", "forever")
		started, err := own.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		killed := make(chan error, 1)
		go func() { killed <- started.Kill(within(t)) }()
		for {
			h, _, err := hosts.Attach("guest", started.PID(), own.Addr, "")
			if err == nil {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			var died *hosts.DiedError
			if !errors.As(err, &died) {
				t.Fatal(err)
			}
			break
		}
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
	}
}

// What lives in the machine's own network is left alone.
func TestAttachRefusesTheMachine(t *testing.T) {
	if !inside(t) {
		return
	}
	cmd := exec.Command("/proc/self/exe", "forever")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, _, err := hosts.Attach("guest", cmd.Process.Pid, hosts.DefaultPrefix.Addr(), ""); !errors.Is(err, hosts.ErrShared) {
		t.Errorf("attached to a process on the machine's network: %v", err)
	}
}

// A bridge of others keeps its hosts when ours go, and gives none of the addresses that are taken.
func TestJoin(t *testing.T) {
	if !inside(t) {
		return
	}
	theirs, err := hosts.NewNetwork(hosts.DefaultPrefix)
	if err != nil {
		t.Fatal(err)
	}
	a, err := theirs.AddHost("a")
	if err != nil {
		t.Fatal(err)
	}
	first := a.Addr.Next()
	ours, err := hosts.Join("lc0", theirs.Prefix(), first, first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ours.AddHost("b")
	if err != nil {
		t.Fatal(err)
	}
	if b.Addr != first.Next() {
		t.Errorf("the host got %s although %s is the first that is free", b.Addr, first.Next())
	}
	if err := errors.Join(theirs.Await(within(t), a), ours.Await(within(t), b)); err != nil {
		t.Fatal(err)
	}
	talk(t, b, a)
	// A run that was killed closed nothing: the next one takes its hosts' place at once.
	next, err := hosts.Join("lc0", theirs.Prefix(), first, first)
	if err != nil {
		t.Fatal(err)
	}
	again, err := next.AddHost("again")
	if err == nil {
		err = next.Await(within(t), again)
	}
	if err != nil {
		t.Fatalf("after a run that was killed: %v", err)
	}
	if again.Addr != b.Addr {
		t.Errorf("it got %s, not %s", again.Addr, b.Addr)
	}
	talk(t, again, a)
	if err := ours.Close(); err != nil { // late: what it had is another's
		t.Fatal(err)
	}
	talk(t, a, again)
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := theirs.AddHost("c")
	if err == nil {
		err = theirs.Await(within(t), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	talk(t, c, a)
	if _, err := hosts.Join("lo", theirs.Prefix(), first); err == nil || !strings.Contains(err.Error(), "not a bridge") {
		t.Errorf("joined lo: %v", err)
	}
}

// talk connects one host to another.
func talk(t *testing.T, from, to *hosts.Host) {
	t.Helper()
	l, err := to.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := from.Dial(within(t), "tcp", l.Addr().(interface{ AddrPort() netip.AddrPort }).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
