package audit_test

import (
	"errors"
	"io"
	"testing"

	"github.com/lockchaos/lockchaos/audit"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// judge judges a translated history, and holds the events to what every history keeps.
func judge(t testing.TB, s *audit.Source) checker.Verdict {
	t.Helper()
	j := checker.New(s.Header, s.Keys, checker.Options{})
	for {
		var e history.Event
		if err := s.Read(&e); errors.Is(err, io.EOF) {
			return j.Finish(false)
		} else if err != nil {
			t.Fatal(err)
		}
		j.Add(&e)
	}
}
