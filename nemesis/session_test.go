package nemesis

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/monotime"
)

// A client that has no session yet is looked at again; what the service answers is the evidence.
func TestExpireWaitsForASession(t *testing.T) {
	asked := 0
	before := monotime.Now()
	e, err := ExpireSession(t.Context(), "client-1", func(context.Context) ([]string, error) {
		if asked++; asked < 3 {
			return nil, nil
		}
		return []string{"lease 1 revoked", "lease 2 revoked"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	effect, err := e.Heal()
	if err != nil || asked != 3 || !effect.Bit || effect.Proof != "client-1: lease 1 revoked; lease 2 revoked" ||
		e.From() != effect.From || effect.From <= before || effect.To < effect.From {
		t.Errorf("asked %d times: %+v, %v", asked, effect, err)
	}
}

// What can't be done is an error, and no effect.
func TestExpireFails(t *testing.T) {
	broken := errors.New("nobody answers")
	if _, err := ExpireSession(t.Context(), "client-1", func(context.Context) ([]string, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := ExpireSession(ctx, "client-1", func(context.Context) ([]string, error) { cancel(); return nil, nil })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no session") {
		t.Errorf("got %v", err)
	}
	if err := Check(Spec{Kind: KindExpireSession, Aim: Aim{Holder, AfterGrant}}, five); err == nil || !strings.Contains(err.Error(), "sessions") {
		t.Errorf("a service without sessions: %v", err)
	}
	if err := Check(Spec{Kind: KindExpireSession, Aim: Aim{Holder, AfterGrant}}, five, Sessions); err != nil {
		t.Errorf("a service with sessions: %v", err)
	}
}
