package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHostileNames: hundreds of thousands of words on a command line are looked up once each. It takes a
// tenth of a second; when each word was looked for in all suites it took half a minute.
func TestHostileNames(t *testing.T) {
	const name = "redis-setnx/none/unfenced"
	begin := time.Now()
	c, err := ours().Choose(slices.Repeat([]string{name, "redlock/none/unfenced"}, 200_000))
	if err != nil || len(c.Scenarios) != 2 {
		t.Fatalf("%d scenarios, %v", len(c.Scenarios), err)
	}
	if _, err := ours().Choose([]string{name, strings.Repeat("x", 1<<20)}); err == nil {
		t.Error("a long word names something")
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}
