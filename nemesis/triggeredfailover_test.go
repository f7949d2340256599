package nemesis

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A failover that a user triggers strikes after a grant, and bites only if the service has other
// masters afterwards. A command that could not be run is an error.
func TestTrigger(t *testing.T) {
	for name, c := range map[string]struct {
		came  TriggeredFailover
		err   error
		grant int64
		bit   bool
		want  string
		kept  bool
	}{
		"other masters": {TriggeredFailover{Before: "a", After: "b", Changed: true, Said: `"OK"`}, nil, 7, true, `before: a; --failover-cmd, while grant 7 was held: "OK"; after: b`, false},
		"nothing lost":  {TriggeredFailover{Before: "a", After: "b", Changed: true, Kept: true}, nil, 7, true, "; nothing was lost: ", true},
		"the same":      {TriggeredFailover{Before: "a", After: "a", Said: `"ERR", exit status 1`}, nil, 7, false, "the masters are the same", false},
		"no answer":     {TriggeredFailover{}, errors.New("no node answers"), 7, false, "no node answers", false},
		"no grant":      {TriggeredFailover{}, nil, 0, false, ErrMissed.Error(), false},
	} {
		asked := false
		site := &Site{Resources: Resources{NextGrant: func(context.Context) int64 { return c.grant },
			FailOver: func(context.Context) (TriggeredFailover, error) { asked = true; return c.came, c.err }}}
		in, err := failover.inject(t.Context(), site)
		if c.grant == 0 {
			if !errors.Is(err, ErrMissed) || asked {
				t.Errorf("%s: %v, asked %v", name, err, asked)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := in.Heal()
		if text := e.Proof; err != nil {
			text = err.Error()
			if !strings.Contains(text, c.want) {
				t.Errorf("%s: %s", name, text)
			}
		} else if !strings.Contains(text, c.want) || c.err != nil {
			t.Errorf("%s: %s", name, text)
		}
		if e.Bit != c.bit || e.Kept != c.kept || e.To < e.From || in.(GrantFinder).Holding() != c.grant {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
