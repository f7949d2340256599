//go:build !wasip1

package locktest_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/runs/saved"
	"github.com/lockchaos/lockchaos/locktest"
)

// failing is a test that notes what it is told.
type failing struct {
	testing.TB
	errors []string
}

func (f *failing) Helper()           {}
func (f *failing) Error(args ...any) { f.errors = append(f.errors, fmt.Sprint(args...)) }
func (f *failing) Fatal(args ...any) {
	f.Error(args...)
	runtime.Goexit()
}

// checked is what Check says of a log.
func checked(t *testing.T, file string, how ...saved.Reading) string {
	t.Helper()
	f, done := &failing{TB: t}, make(chan bool)
	go func() {
		defer close(done)
		locktest.Check(f, file, how...)
	}()
	<-done
	return strings.Join(f.errors, "\n")
}

// TestCheck: the log of slog is judged by the lines of its application, and
// only one that passes passes.
func TestCheck(t *testing.T) {
	log := func(lines ...string) string {
		name := filepath.Join(t.TempDir(), "app.log")
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		out := slog.New(slog.NewJSONHandler(file, nil))
		for _, line := range lines {
			client, event, _ := strings.Cut(line, " ")
			out.Info(event, "worker", client, "lock", "invoices")
		}
		return name
	}
	if text := checked(t, log("w1 acquired", "w1 released", "w2 acquired", "w2 released")); text != "" {
		t.Errorf("it does not pass: %s", text)
	}
	for name, c := range map[string]struct {
		file string
		how  []saved.Reading
		want string
	}{
		"violated":     {log("w1 acquired", "w2 acquired", "w1 released", "w2 released"), nil, "w1 and w2 both held invoices"},
		"inconclusive": {log("w1 acquired", "w1 released"), nil, "No key was granted to two clients"},
		"refused":      {log("w1 dances"), nil, "nobody knows what this event means"},
		"as it is told": {log("w1 got it", "w2 got it", "w1 left", "w2 left"),
			[]saved.Reading{{Options: audit.Options{Events: map[string][]string{"grant": {"got it"},
				"release": {"left"}}}}}, "w1 and w2 both held invoices"},
		"missing": {"nowhere.log", nil, "no history there"},
	} {
		if text := checked(t, c.file, c.how...); !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
