package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// A client that has no session yet is looked at again; what the service answers is the evidence.
func TestExpireWaitsForASession(t *testing.T) {
	asked := 0
	before := monotime.Now()
	e, err := ExpireSession(t.Context(), "client-1", func(context.Context) ([]string, error) {
		if asked++; asked < 10 { // longer than for one that it has lost
			return nil, fmt.Errorf("of this client: %w", ErrUntold)
		}
		return []string{"lease 1 revoked", "lease 2 revoked"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	effect, err := e.Heal()
	if err != nil || asked != 10 || !effect.Bit || effect.Proof != "client-1: lease 1 revoked; lease 2 revoked" ||
		e.From() != effect.From || effect.From <= before || effect.To < effect.From {
		t.Errorf("asked %d times: %+v, %v", asked, effect, err)
	}
}

// A client that has lost its session, and not opened another, has been missed.
func TestExpireMisses(t *testing.T) {
	if _, err := ExpireSession(t.Context(), "client-1",
		func(context.Context) ([]string, error) { return nil, nil }); !errors.Is(err, ErrMissed) {
		t.Errorf("got %v", err)
	}
}

// What can't be done is an error, and no effect.
func TestExpireFails(t *testing.T) {
	broken := errors.New("nobody answers")
	if _, err := ExpireSession(t.Context(), "client-1",
		func(context.Context) ([]string, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := ExpireSession(ctx, "client-1", func(context.Context) ([]string, error) { cancel(); return nil, ErrUntold })
	if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUntold) {
		t.Errorf("got %v", err)
	}
	if err := Check(Spec{Kind: KindExpireSession, Aim: Aim{Holder, AfterGrant}}, Setting{Nodes: five}); err == nil ||
		!strings.Contains(err.Error(), "sessions") {
		t.Errorf("a service without sessions: %v", err)
	}
	if err := Check(Spec{Kind: KindExpireSession, Aim: Aim{Holder, AfterGrant}}, Setting{Nodes: five, Has: []Trait{Sessions}}); err != nil {
		t.Errorf("a service with sessions: %v", err)
	}
}
