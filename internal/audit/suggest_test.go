package audit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestSuggestedLocks: a pattern that is made of a file's first lines finds the name of the lock
// behind words such as "the lock". Two locks are not taken for one, and one is not taken for two.
func TestSuggestedLocks(t *testing.T) {
	for name, line := range map[string]string{ // TIME, then who, what, and which lock
		"the word lock":           "2026-03-01 10:00:0%d,100 INFO worker-%s %s lock %s",
		"quotes":                  `2026-03-01T10:00:0%d.100Z [worker-%s] %s lock "%s"`,
		"several words":           "2026-03-01T10:00:0%d.100Z [worker-%s] %s the lock for %s, ttl 30",
		"another word":            "2026-03-01T10:00:0%d.100Z worker-%s %s mutex %s after 3 ms",
		"the word lock before":    "2026-03-01T10:00:0%d.100Z worker-%s lock %s %s",
		"a pair":                  "2026-03-01T10:00:0%d.100Z [worker-%s] %s lock name=%s",
		"logfmt":                  `time=2026-03-01T10:00:0%d.100Z level=info msg="lock %[3]s" worker=%[2]s lock=%[4]s`,
		"logfmt without a quote":  `time=2026-03-01T10:00:0%d.100Z level=info msg=%[3]s worker="w %[2]s" lock=%[4]s`,
		"nothing before the lock": "2026-03-01 10:00:0%d,100 INFO worker-%s %s %s",
	} {
		for second, want := range map[string]checker.Outcome{"inv": checker.Violated, "orders": checker.Inconclusive} {
			text := ""
			for i, say := range []string{"1 acquired inv", "2 acquired " + second, "1 released inv", "2 released " + second} {
				words := strings.Fields(say)
				text += fmt.Sprintf(line+"\n", i+1, words[0], words[1], words[2])
			}
			_, err := formats.Detect([]byte(text), "app.log", false)
			unknown, ok := errors.AsType[*formats.UnknownFormat](err)
			if !ok || unknown.Pattern == "" {
				t.Errorf("%s: no pattern: %v", name, err)
				continue
			}
			v, s := judgeText(t, text, "app.log", formats.Text, audit.Options{Pattern: unknown.Pattern})
			if got := said(s, v); v.Outcome != want || want == checker.Violated && !strings.Contains(got, "both held inv ") {
				t.Errorf("%s, %s: %s, want %s by %s\n%s", name, second, v.Outcome, want, unknown.Pattern, got)
			}
			s.Close()
		}
	}
	const nameless = "2026-03-01T10:00:0%d.100Z worker-%s %s lock after 5 ms\n"
	text := fmt.Sprintf(nameless, 1, "1", "acquired") + fmt.Sprintf(nameless, 2, "2", "acquired") + "2026-03-01T10:00:03.100Z worker-2 released lock\n" +
		"2026-03-01T10:00:04.100Z worker-1 released lock\n"
	_, err := formats.Detect([]byte(text), "app.log", false)
	unknown, _ := errors.AsType[*formats.UnknownFormat](err)
	v, s := judgeText(t, text, "app.log", formats.Text, audit.Options{Pattern: unknown.Pattern})
	defer s.Close()
	if v.Outcome != checker.Violated {
		t.Errorf("no name of a lock: %s by %s\n%s", v.Outcome, unknown.Pattern, said(s, v))
	}
}
