package needed_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// fate is a test that notes what became of it.
type fate struct {
	testing.TB
	skipped, failed string
}

func (*fate) Helper()                        {}
func (f *fate) Skipf(text string, a ...any)  { f.skipped = fmt.Sprintf(text, a...); panic(f) }
func (f *fate) Fatalf(text string, a ...any) { f.failed = fmt.Sprintf(text, a...); panic(f) }

// of runs a test and returns what became of it.
func of(test func(testing.TB)) (f *fate) {
	f = &fate{}
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
	}()
	test(f)
	return f
}

func TestWhatIsMissing(t *testing.T) {
	gone := errors.New("no redis-server")
	lacks := func(t testing.TB) { needed.Be(t, nil, gone) }
	program := func(t testing.TB) { needed.Program(t, "lockchaos-has-no-such-program") }
	for _, c := range []struct {
		name, require, tier string
		test                func(testing.TB)
		skipped, failed     bool
	}{
		{"nothing is missing", "all", "", func(t testing.TB) { needed.Be(t, nil); needed.Program(t, "lockchaos-no", "sh") }, false, false},
		{"missing", "", "", lacks, true, false},
		{"missing and required", "all", "", lacks, false, true},
		{"program", "", "", program, true, false},
		{"program required", "all", "", program, false, true},
		{"built, and everything runs", "all", "", func(t testing.TB) { needed.Later(t, "Consul is built") }, false, false},
		{"built, in make test", "all", "packages", func(t testing.TB) { needed.Later(t, "Consul is built") }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(needed.RequireVar, c.require)
			t.Setenv(needed.TierVar, c.tier)
			got := of(c.test)
			if (got.skipped != "") != c.skipped || (got.failed != "") != c.failed {
				t.Errorf("skipped %q, failed %q", got.skipped, got.failed)
			}
		})
	}
}
