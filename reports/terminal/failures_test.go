package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// What has one cause is told once in the terminal, the reason first, then what
// to do, then the scenarios.
func TestOneCauseIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	if err := Matrix(&out, reporttest.OfOneCause(), false, 0); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(out.String(), "\n\n")
	reporttest.WantInOrder(t, text, "failed: 10 scenarios: Open /proc/thread-self/net/nfnetlink_queue: permission denied.", "to do: lockchaos doctor", "these: redis-setnx/hold-a/unfenced, ",
		"redis-setnx/hold-d/unfenced (unfenced-write violated before), ", "redis-setnx/hold-j/unfenced\n", "again: lockchaos run 0",
		"failed: etcd-lease/other: Node etcd-1: it ended: exit status 7.",
		"skipped: 2 scenarios: Packet queue: no such file; to do: modprobe it.", "these: redlock/cut-a, redlock/cut-b")
	if n := strings.Count(text, "permission denied"); n != 1 {
		t.Errorf("the reason is told %d times:\n%s", n, text)
	}
	if groups := reporttest.OfOneCause().FailedByCause(); len(groups) != 2 || len(groups[0]) != 10 || len(groups[1]) != 1 {
		t.Errorf("groups of failures: %v", groups)
	}
}
