package harness

import (
	"errors"
	"net/netip"
	"sync"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// tap watches the packets of a client whose lock does not say when its attempts
// began. A nil tap sees nothing.
type tap struct {
	mu      sync.Mutex
	packets *netfault.Tap // nil: not needed any more
}

// Begin is called before the client is asked to acquire a key.
func (t *tap) Begin() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.packets != nil {
		t.packets.Begin()
	}
}

// End returns what the packets tell of a grant. A lock that stamps its attempts
// knows that better, and is watched no longer.
func (t *tap) End(attempt, end int64) (sent, came int64) {
	if t == nil {
		return 0, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.packets == nil:
	case attempt != 0:
		_ = t.packets.Close() // nothing was written to it
		t.packets = nil
	default:
		seen := t.packets.End(end)
		return seen.Sent, seen.Came
	}
	return 0, 0
}

func (t *tap) close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.packets == nil {
		return nil
	}
	err := t.packets.Close()
	t.packets = nil
	return err
}

// taps are those of a run, one a host: the next process of a client goes on with it.
type taps struct {
	mu sync.Mutex
	by map[string]*tap
}

// on returns the tap of a client's host; nil where there are no packets to see.
// Without the right to watch there is none either: it only tells more.
func (ts *taps) on(host *hosts.Host, service *backends.Service) *tap {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t, known := ts.by[host.Name]; known || len(service.Nodes) == 0 {
		return t
	}
	var servers []netip.Addr
	for _, n := range service.Nodes {
		servers = append(servers, n.Host.Addr)
	}
	if ts.by == nil {
		ts.by = map[string]*tap{}
	}
	var t *tap
	if packets, err := netfault.OpenTap(host, servers...); err == nil {
		t = &tap{packets: packets}
	}
	ts.by[host.Name] = t
	return t
}

func (ts *taps) close() error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var errs []error
	for _, t := range ts.by {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}
