package clienttest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
)

// The tests of the suite that more than one control fails, by how their names begin.
const (
	FrozenService = "a frozen service"
	FrozenHolder  = "a frozen holder"
	KilledHolder  = "a killed holder"
)

// RunControl runs the suite on a lock that is broken on purpose. The tests
// whose names begin with the words in caught must fail; those in unsure may;
// all others must pass: a control is broken in the one way that it says.
func RunControl(t *testing.T, kind clients.Kind, s Service, caught, unsure []string) {
	if kind.Control == "" {
		t.Fatalf("%s: no control", kind.Name)
	}
	named := map[string]bool{}
	find := func(words []string, name string) bool {
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(name, w) })
		if i >= 0 {
			named[words[i]] = true
		}
		return i >= 0
	}
	for _, test := range tests {
		if !test.suits(kind.Claims) || find(unsure, test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			if !find(caught, test.name) {
				newSuite(t, kind, s).whole(test.run)
				return
			}
			hasty := s
			hasty.Slack = 2 * time.Second // what never comes need not be waited for
			decided.Run(t, func() {       // it is broken, and may get by once
				said, _ := complaints(t, func(r testing.TB) { newSuite(t, kind, hasty).with(r, test.run) })
				if len(said) == 0 {
					decided.Lacks("a complaint of %s, which is broken on purpose", kind.Name)
				}
				t.Logf("caught: %s", strings.Join(said, "; "))
			})
		})
	}
	for _, w := range append(slices.Clone(caught), unsure...) {
		if !named[w] {
			t.Errorf("%s: no test's name begins with %q", kind.Name, w)
		}
	}
}
