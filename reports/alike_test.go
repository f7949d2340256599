package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// ofOneCause is a suite in which ten scenarios failed because of one refusal, on hosts of their own, two were skipped for one reason, and one failed
// otherwise.
func ofOneCause() Suite {
	var s Suite
	for i := range 10 {
		s.Scenarios = append(s.Scenarios, Scenario{Name: fmt.Sprintf("redis-setnx/hold-%c/unfenced", 'a'+i), Lock: "redis-setnx", Fault: "hold", Store: "unfenced",
			Dir: fmt.Sprint(i), Rerun: fmt.Sprintf("lockchaos run %d", i),
			Failed: fmt.Sprintf("close the packet filter of host client-%d: open /proc/thread-self/net/nfnetlink_queue: permission denied\nand more of client-%d", i, i)})
	}
	s.Scenarios[3].Verdict = checker.Verdict{Outcome: checker.Violated, Properties: []checker.PropertyResult{{Name: checker.UnfencedWrite, Outcome: checker.Violated}}}
	for _, name := range []string{"a", "b"} {
		s.Scenarios = append(s.Scenarios, Scenario{Name: "redlock/cut-" + name, Skipped: "packet queue: no such file; to do: modprobe it"})
	}
	s.Scenarios = append(s.Scenarios, Scenario{Name: "etcd-lease/other", Failed: "node etcd-1: it ended: exit status 7"})
	return s
}

// What has one cause is told once in the terminal, the reason first, then what to do, then the scenarios.
func TestOneCauseIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	if err := Matrix(&out, ofOneCause(), false, 0); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), "\n\n")
	wantInOrder(t, text, "failed: 10 scenarios: Open /proc/thread-self/net/nfnetlink_queue: permission denied.", "to do: lockchaos doctor", "these: redis-setnx/hold-a/unfenced, ",
		"redis-setnx/hold-d/unfenced (unfenced-write violated before), ", "redis-setnx/hold-j/unfenced\n", "again: lockchaos run 0",
		"failed: etcd-lease/other: Node etcd-1: it ended: exit status 7.", "skipped: 2 scenarios: Packet queue: no such file; to do: modprobe it.", "these: redlock/cut-a, redlock/cut-b")
	if n := strings.Count(text, "permission denied"); n != 1 {
		t.Errorf("the reason is told %d times:\n%s", n, text)
	}
	if groups := ofOneCause().FailedAlike(); len(groups) != 2 || len(groups[0]) != 10 || len(groups[1]) != 1 {
		t.Errorf("groups of failures: %v", groups)
	}
}

// So does the index page, and each scenario there leads to its page and can be filtered for.
func TestOneCauseIsToldOnceOnThePage(t *testing.T) {
	var out bytes.Buffer
	if err := WriteIndex(&out, ofOneCause()); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), "<h2>Look at these</h2>")
	text, _, _ = strings.Cut(text, "<h2>")
	wantInOrder(t, text, "10 scenarios", "permission denied.", "lockchaos doctor", `<li><span data-lock="redis-setnx"`, `href="./0/report.html"`, `href="./9/report.html"`, "2 scenarios", "modprobe it.")
	if n := strings.Count(text, "<tr"); n != 4 { // with the head's
		t.Errorf("%d rows:\n%s", n, text)
	}
}

func wantInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		at := strings.Index(rest, p)
		if at < 0 {
			t.Fatalf("%q is missing, or comes too early, in\n%s", p, text)
		}
		rest = rest[at+len(p):]
	}
}

// The reason begins with the call that was refused, wherever the refusal came up; other errors are told as they are.
func TestCause(t *testing.T) {
	for failed, want := range map[string]string{
		"a: b: open F: permission denied":                       "open F: permission denied",
		"open F: permission denied":                             "open F: permission denied",
		"permission denied":                                     "permission denied",
		"a: open F: operation not permitted: run this with CAP": "open F: operation not permitted: run this with CAP",
		"a: write F: no space left on device\nb":                "write F: no space left on device",
		"a: b: exit status 1":                                   "a: b: exit status 1",
	} {
		if got, do := cause(failed); got != want || (do == "") != strings.Contains(failed, "exit status") {
			t.Errorf("%q: %q (%q)", failed, got, do)
		}
	}
}
