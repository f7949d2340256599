package nemesis

import (
	"context"
	"sync"

	"github.com/lockchaos/lockchaos/clockskew"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/netfault"
)

// Able tries what faults need, in a throw-away sandbox on this machine. It returns a function that says why a need is not met, and what to do; "": it is
// met. The program, started again with the given arguments inside the sandbox, must do netfault.WriteProbe.
func Able(ctx context.Context, probe ...string) func(Need) string {
	checks := map[string]hosts.Check{}
	for _, c := range netfault.ProbeOutside(ctx, probe...) {
		checks[c.Name] = c
	}
	clocks := sync.OnceValue(func() error { return clockskew.Supported(ctx) })
	return func(need Need) string {
		switch need {
		case NeedsLocalFilter:
			need = NeedsFilter
		case NeedsNothing, NeedsLocal:
			return ""
		case NeedsClocks:
			if err := clocks(); err != nil {
				return err.Error()
			}
			return ""
		}
		return unmet(checks, string(need))
	}
}

// unmet says how the check of that name failed; "": it did not.
func unmet(checks map[string]hosts.Check, name string) string {
	c, known := checks[name]
	switch {
	case !known:
		return "nobody tries " + name
	case c.OK:
		return ""
	case c.Fix != "":
		return c.Detail + "; to do: " + c.Fix
	}
	return c.Detail
}
