package probe

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// memory is a server in memory, with a flaw.
type memory struct {
	mu   sync.Mutex
	flaw string
	keys map[string]entry
}

type entry struct {
	value string
	until time.Time
}

// pause lets another client come between the two halves of what should be one step.
func (m *memory) pause() {
	m.mu.Unlock()
	time.Sleep(time.Millisecond)
	m.mu.Lock()
}

func (m *memory) at(key string) string {
	if e := m.keys[key]; m.flaw == "immortal" || time.Now().Before(e.until) {
		return e.value
	}
	return ""
}

func (m *memory) prepare(context.Context, string) error { return nil }

func (m *memory) create(_ context.Context, key, value string, ttl time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.at(key) != ""
	if m.flaw == "create" {
		m.pause()
	}
	if there {
		return false, nil
	}
	if m.flaw == "early" {
		ttl /= 2
	}
	m.keys[key] = entry{value, time.Now().Add(ttl)}
	return true, nil
}

func (m *memory) swap(_ context.Context, key, old, fresh string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := m.at(key) == old
	if m.flaw == "swap" {
		m.pause()
	}
	if same {
		m.keys[key] = entry{fresh, m.keys[key].until}
	}
	return same, nil
}

func (m *memory) get(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at(key), nil
}

func (m *memory) clear(_ context.Context, prefix string, keys []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) {
			delete(m.keys, key)
		}
	}
	return nil
}

func (m *memory) facts(context.Context) ([]Fact, error) { return nil, nil }
func (m *memory) close()                                {}

// A server that breaks a primitive is found out by the race for it, and only that; a sound one
// breaks none. Either way nothing is left.
func TestRaceFindsBrokenPrimitives(t *testing.T) {
	t.Parallel()
	for flaw, want := range map[string]string{"": "", "create": CreateIfAbsent, "swap": CompareAndSet, "early": Expiry,
		"immortal": Expiry} {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			m := &memory{flaw: flaw, keys: map[string]entry{}}
			s := Service{ttl: 400 * time.Millisecond, late: 2 * time.Second,
				open: func(context.Context, endpoint.Endpoint, endpoint.Dial) (server, error) { return m, nil }}
			trials, err := s.Race(t.Context(), endpoint.Endpoint{}, nil, 200*time.Millisecond)
			if err != nil || len(trials) != 3 {
				t.Fatal(trials, err)
			}
			var broken []string
			for _, one := range trials {
				if one.Broken != "" {
					broken = append(broken, one.Primitive)
				}
			}
			if strings.Join(broken, " ") != want {
				t.Errorf("broken: %v; want %q; %+v", broken, want, trials)
			}
			if len(m.keys) > 0 {
				t.Errorf("%d keys are left", len(m.keys))
			}
		})
	}
}
