package possible

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

// What an application can't be struck by is refused, with the reason.
func TestCheckApp(t *testing.T) {
	logged := scenarios.App{Clients: []string{"a", "b"}, Service: []string{"redis"}}
	hooked := logged
	hooked.Hooks.Port = 80
	for _, c := range []struct {
		app  scenarios.App
		f    scenarios.Fault
		want string
	}{
		{logged, scenarios.Fault{Kind: "pause", Target: "holder", When: "after-grant"}, ""},
		{logged, scenarios.Fault{Kind: "partition", Target: "client-2", When: "random", Peers: "service"}, ""},
		{logged, scenarios.Fault{Kind: "pause", Target: "redis", When: "random"}, ""},
		{hooked, scenarios.Fault{Kind: "pause", Target: "next-waiter", When: "before-release"}, ""},
		{hooked, scenarios.Fault{Kind: "clock-jump", Target: "holder", When: "random", Clock: "wall", By: scenarios.Offset(time.Hour)}, ""},
		{logged, scenarios.Fault{Kind: "clock-jump", Target: "holder", When: "random", Clock: "wall",
			By: scenarios.Offset(time.Hour)}, "stamps"},
		{logged, scenarios.Fault{Kind: "pause", Target: "holder", When: "before-write"}, "nobody knows when"},
		{logged, scenarios.Fault{Kind: "pause", Target: "next-waiter", When: "after-grant"}, "next-waiter"},
		{logged, scenarios.Fault{Kind: "kill", Target: "holder", When: "random"}, "a kill can't strike"},
		{logged, scenarios.Fault{Kind: "pause", Target: "client-3", When: "random"}, "the app has 2 clients"},
		{logged, scenarios.Fault{Kind: "pause", Target: "postgres", When: "random"}, "unknown target"},
		{logged, scenarios.Fault{Kind: "partition", Target: "holder", When: "random", Peers: "store"}, "names no store"},
	} {
		err := CheckAppFault(&scenarios.Scenario{App: &c.app}, c.f)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s at %s: %v, want %q", c.f.Kind, c.f.Target, c.f.When, err, c.want)
		}
	}
}
