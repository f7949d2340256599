package noop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/noop"
)

func TestNoop(t *testing.T) {
	ctx := context.Background()
	l, err := noop.Noop.Open(ctx, clients.Config{Client: 3})
	if err != nil {
		t.Fatal(err)
	}
	a, errA := l.Acquire(ctx, "k0")
	_, errB := l.Acquire(ctx, "k0")
	if errA != nil || errB != nil || a.Token != 3 || a.Attempt == 0 {
		t.Errorf("%+v, %v, %v", a, errA, errB)
	}
	if err := errors.Join(l.Release(ctx, a), l.Release(ctx, a)); err != nil {
		t.Error(err)
	}
	if err := l.Release(ctx, a); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("a third release of two grants: %v", err)
	}
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
}
