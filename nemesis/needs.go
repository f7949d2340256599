package nemesis

import (
	"context"
	"errors"
	"sync"

	"github.com/lockchaos/lockchaos/internal/clockskew"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/netfault"
)

// ProbeNeeds tries what faults need, in a throw-away sandbox on this machine. It returns a
// function that says why a need is not met, and what to do; "": it is met. open: the try did
// not end in its time, or was interrupted, so the need may be met all the same. The program,
// started again with the given arguments inside the sandbox, must do netfault.WriteProbe.
func ProbeNeeds(ctx context.Context, probe ...string) func(Need) (why string, open bool) {
	checks := map[string]hosts.Check{}
	for _, c := range netfault.ProbeOutside(ctx, probe...) {
		checks[c.Name] = c
	}
	clocks := sync.OnceValue(func() error { return clockskew.Supported(ctx) })
	return func(need Need) (string, bool) {
		switch need {
		case NeedsLocalFilter:
			need = NeedsFilter
		case NeedsNothing, NeedsLocal:
			return "", false
		case NeedsCluster:
			return "it strikes the pods of an application of your own (app), with --runtime kubernetes", false
		case NeedsClocks:
			if err := clocks(); err != nil {
				return err.Error(), errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
			}
			return "", false
		}
		return whyFailed(checks, string(need)), checks[string(need)].Open
	}
}

// UnmetNeeds tries what faults need, as Tried does, and says why a need is surely not
// met. Of one that was not tried to its end the run will tell.
func UnmetNeeds(ctx context.Context, probe ...string) func(Need) string {
	tried := ProbeNeeds(ctx, probe...)
	return func(need Need) string {
		if why, open := tried(need); !open {
			return why
		}
		return ""
	}
}

// whyFailed says how the check of that name failed; "": it did not.
func whyFailed(checks map[string]hosts.Check, name string) string {
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
