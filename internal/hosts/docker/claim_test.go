package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestClaim: who claims what another has waits for it, and hears it if that was in vain.
func TestClaim(t *testing.T) {
	name := fmt.Sprintf("test-claim-%d", os.Getpid())
	first, err := Claim(t.Context(), name, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(t.Context(), name, claimPoll); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("claimed twice: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Claim(ended, name, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("waited though the run has ended: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		second, err := Claim(t.Context(), name, time.Hour)
		if err == nil {
			err = second.Close()
		}
		got <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("claimed when it was free: %v", err)
	}
}
