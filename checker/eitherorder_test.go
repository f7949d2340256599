package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEitherOrder: where the history does not tell which of two grants was the earlier, each order is judged.
func TestEitherOrder(t *testing.T) {
	// B was waiting since before A was granted the key, and was granted it itself by 900.
	story := func(faults string) string {
		return `
		B acquire [-5,900]
		A acquire [0,10]
		A write [1500,1501] refused
		B write [910,911] refused
		B write [1600,1601] refused
		A exit [1610]
		B exit [1610]
		` + faults + probeText
	}
	const cut = "delay A [20,1700]"
	for _, x := range []struct {
		name, text string
		lock       script
		kind       string
		assumed    bool
		first      int32 // the client of A
		says       string
	}{
		{"in one order an overrun, in the other a grant of a promised key", story("pause A [20,1490]"), plainLock(), KindLeaseOverrun, true, 1,
			"client 1 was frozen for 1.470 s, outlived its lease of 0.500 s and went on as holder, if it was granted the key first. The history does not tell that; the start of the attempt that succeeded (attempt_ns) would."},
		{"in one order an overrun, in the other nothing explains it", story("pause A [20,1490]"), noClaims(plainLock()), KindLeaseOverrun, true, 1, "if it was granted the key first"},
		{"in each order an overrun", story("pause A [20,1490]\npause B [20,890]"), noClaims(plainLock()), KindLeaseOverrun, false, 1, "which of them was granted it first, the history does not tell."},
		{"in one order told too late, in the other a grant of a promised key", story(cut), alone(plainLock()), KindLateNotice, false, 1,
			"but if client 1 was, its lock told it of the loss too late, and if client 2 was, client 1 was granted it inside that promise."},
		{"the same, within the grace", story(cut), alone(plainLock()).with(func(h *history.Header) { h.Claims.LostGrace = 700 * ms }), KindLeaseOverrun, true, 1, "if it was granted the key first"},
		{"no order is innocent, and none convicts for certain", story(""), noClaims(plainLock()), KindUnexplained, false, 1, "which of them was granted it first, the history does not tell."},
		{"each order is a grant of a promised key", strings.Replace(story(""), "[-5,900]", "[-5,300]", 1), plainLock(), KindGrantedWhileValid, false, 1, "but each was granted it inside the other's promise."},
	} {
		t.Run(x.name, func(t *testing.T) {
			verdict := x.lock.judge(t, x.text)
			r := verdict.Property(MutualExclusion)
			if r.Count != 1 || len(r.Violations) != 1 {
				t.Fatalf("%s ×%d", r.Outcome, r.Count)
			}
			v := &r.Violations[0]
			if v.Kind != x.kind || v.Assumed != x.assumed || !v.Unordered || v.Cause() != 0 || v.A.Client != x.first || !strings.Contains(v.Text, x.says) {
				t.Errorf("%s, assumed: %v, client %d first: %s", v.Kind, v.Assumed, v.A.Client, v.Text)
			}
		})
	}
}
