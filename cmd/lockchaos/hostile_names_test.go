package main

import (
	"slices"
	"strings"
	"testing"
)

// TestHostileNames: millions of words on a command line are looked up once each, in half a
// second. When each word was looked for in all suites, they took longer than a test may.
func TestHostileNames(t *testing.T) {
	const name = "redis-setnx/none/unfenced"
	c, err := ours().Choose(slices.Repeat([]string{name, "redlock/none/unfenced"}, 2_000_000), false)
	if err != nil || len(c.Scenarios) != 2 {
		t.Fatalf("%d scenarios, %v", len(c.Scenarios), err)
	}
	if _, err := ours().Choose([]string{name, strings.Repeat("x", 1<<20)}, false); err == nil {
		t.Error("a long word names something")
	}
}
