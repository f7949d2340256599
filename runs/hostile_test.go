package runs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

// TestHostileNames: hundreds of thousands of words on a command line are looked up once each.
func TestHostileNames(t *testing.T) {
	tool := NewTool("test", "lockchaos", []clients.Kind{{Name: "noop"}})
	suites, err := tool.Suites()
	if err != nil {
		t.Skip(err)
	}
	name := suites[0].Scenarios[0].Name
	begin := time.Now()
	c, err := tool.Choose(slices.Repeat([]string{name, suites[0].Scenarios[1].Name}, 100_000))
	if err != nil || len(c.Scenarios) != 2 {
		t.Fatalf("%d scenarios, %v", len(c.Scenarios), err)
	}
	if _, err := tool.Choose([]string{name, strings.Repeat("x", 1<<20)}); err == nil {
		t.Error("a long word names something")
	}
	t.Log(time.Since(begin))
}
