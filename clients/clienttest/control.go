package clienttest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

// RunControl runs the suite on a lock that is broken on purpose. The tests whose names begin with the words in caught must fail; those in unsure may; all others
// must pass: a control is broken in the one way that it says.
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
			if said := failures(t, newSuite(t, kind, hasty), test); len(said) == 0 {
				t.Errorf("%s passed, though it is broken on purpose", kind.Name)
			} else {
				t.Logf("caught: %s", strings.Join(said, "; "))
			}
		})
	}
	for _, w := range append(slices.Clone(caught), unsure...) {
		if !named[w] {
			t.Errorf("%s: no test's name begins with %q", kind.Name, w)
		}
	}
}

// failures runs a test and returns what it complained of, instead of failing.
func failures(t *testing.T, s *suite, test test) []string {
	r := &recorder{TB: t}
	s.TB = r
	done := make(chan struct{})
	go func() { // a test that ends itself ends its goroutine
		defer close(done)
		s.whole(test.run)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said
}

// recorder is a test that takes note of failures and does not fail.
type recorder struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (r *recorder) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, what)
}

func (r *recorder) Error(args ...any)                 { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
