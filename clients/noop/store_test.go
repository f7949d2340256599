package noop_test

import (
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/noop"
)

// TestLockless: everyone is granted at once, nothing is claimed, and no token
// could be taken for one.
func TestLockless(t *testing.T) {
	for _, k := range []clients.Kind{noop.Cas, noop.ConditionalUpdate} {
		if k.Claims.Permits != 0 || k.Claims.Token != "none" || k.Claims.Validity != "" || k.Writes == "" || k.Service != "" {
			t.Errorf("%+v", k)
		}
		for client := range 2 {
			l, err := k.Open(t.Context(), clients.Config{Client: client + 1})
			if err != nil {
				t.Fatal(err)
			}
			g, err := l.Acquire(t.Context(), "k")
			if err != nil || g.Token != 0 {
				t.Errorf("%s: %+v, %v", k.Name, g, err)
			}
			if err := l.Release(t.Context(), g); err != nil {
				t.Error(err)
			}
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}
