//go:build !wasip1

package locktest

import (
	"bytes"
	"cmp"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/runs/saved"
)

// Reading is what `lockchaos check` has flags for: how a file is to be read.
type Reading = saved.Reading

// Check judges the log that an application wrote in an integration test of its
// own, or a trace, as `lockchaos check` does: did two clients hold a lock at once?
// The test fails if a property is violated, and also if the log does not tell, as
// where no lock was granted to two clients. How says what lockchaos check has
// flags for, such as the columns or the TTL; without it they are guessed.
func Check(t testing.TB, file string, how ...Reading) {
	t.Helper()
	var reading Reading
	if len(how) > 0 {
		reading = how[0]
	}
	reading.Format = cmp.Or(reading.Format, "auto")
	j, err := reading.Judge(file, nil)
	if err != nil {
		t.Fatal(shown("locktest: %v", err))
	}
	defer j.Close()
	if j.Verdict.Outcome == checker.Pass {
		return
	}
	var text bytes.Buffer
	j.Print(&text, file)
	t.Error(shown("%s", text.String()))
}
