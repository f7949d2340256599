package clients_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
)

func TestGate(t *testing.T) {
	var none *clients.Gate
	g := &clients.Gate{}
	for _, open := range []*clients.Gate{none, g} {
		if err := open.Pass(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if held := g.Open(); held != 0 {
		t.Errorf("an open gate held %d up", held)
	}
	g.Shut()
	over, end := context.WithCancel(t.Context())
	end()
	if err := g.Pass(over); !errors.Is(err, context.Canceled) {
		t.Errorf("through a closed gate, with a context that has ended: %v", err)
	}
	g.Shut()
	passed := make(chan error)
	for range 2 {
		go func() { passed <- g.Pass(t.Context()) }()
	}
	for held := 1; held < 3; held = g.Held() {
		select {
		case err := <-passed:
			t.Fatalf("through a closed gate: %v", err)
		default:
		}
	}
	if held := g.Open(); held != 3 {
		t.Errorf("%d were held up, want 3", held)
	}
	for range 2 {
		if err := <-passed; err != nil {
			t.Error(err)
		}
	}
	g.Shut()
	if held := g.Open(); held != 0 {
		t.Errorf("shut again, it held %d up", held)
	}
}
