package checker

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
)

// TestEitherOrder: where the history does not tell which of two grants was the
// earlier, each order is judged.
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
		{"in one order an overrun, in the other a grant of a promised key", story("pause A [20,1490]"), plainLock(),
			KindLeaseOverrun, true, 1,
			"client 1 was frozen for 1.470 s, outlived its lease of 0.500 s and went on as holder, if it was granted the key first. The history does not tell that; the start of the attempt that succeeded (attempt_ns) would."},
		{"in one order an overrun, in the other nothing explains it", story("pause A [20,1490]"), noClaims(plainLock()),
			KindLeaseOverrun, true, 1, "if it was granted the key first"},
		{"the attempt of one of them is told", strings.Replace(story("pause A [20,1490]"), "[-5,900]",
			"[-5,900] attempt=5", 1), noClaims(plainLock()), KindLeaseOverrun, true, 1, "(attempt_ns) would"},
		{"in each order an overrun", story("pause A [20,1490]\npause B [20,890]"), noClaims(plainLock()),
			KindLeaseOverrun, false, 1, "which of them was granted it first, the history does not tell."},
		{"in one order told too late, in the other a grant of a promised key", story(cut), alone(plainLock()), KindLateNotice, false, 1,
			"but if client 1 was, its lock told it of the loss too late, and if client 2 was, client 1 was granted it inside that promise."},
		{"the same, within the grace", story(cut),
			alone(plainLock()).with(func(h *history.Header) { h.Claims.LostGrace = 700 * ms }), KindLeaseOverrun, true,
			1, "if it was granted the key first"},
		{"no order is innocent, and none convicts for certain", story(""), noClaims(plainLock()), KindUnexplained,
			false, 1, "which of them was granted it first, the history does not tell."},
		{"each order is a grant of a promised key", strings.Replace(story(""), "[-5,900]", "[-5,300]", 1), plainLock(),
			KindGrantedWhileValid, false, 1, "but each was granted it inside the other's promise."},
	} {
		t.Run(x.name, func(t *testing.T) {
			verdict := x.lock.judge(t, x.text)
			r := verdict.Property(MutualExclusion)
			if r.Count != 1 || len(r.Violations) != 1 {
				t.Fatalf("%s ×%d", r.Outcome, r.Count)
			}
			v := &r.Violations[0]
			if v.Kind != x.kind || v.Assumed != x.assumed || !v.Unordered || v.Cause() != 0 || v.A.Client != x.first ||
				!strings.Contains(v.Text, x.says) {
				t.Errorf("%s, assumed: %v, client %d first: %s", v.Kind, v.Assumed, v.A.Client, v.Text)
			}
		})
	}
}

// TestOrderByPackets: the packets of the clients tell the order that the calls
// leave open. An answer that had arrived before the other was asked for is
// certain; a last request that left late convicts nobody.
func TestOrderByPackets(t *testing.T) {
	story := func(a, b string) string {
		return `
		B acquire [-5,900] ` + b + `
		A acquire [0,10] ` + a + `
		pause A [20,1490]
		A write [1500,1501] refused
		B write [910,911] refused
		B write [1600,1601] refused
		A exit [1610]
		B exit [1610]
		` + probeText
	}
	for _, x := range []struct {
		name, text         string
		kind               string
		assumed, unordered bool
		first              int32
		says               string
	}{
		{"nothing was seen", story("", ""), KindLeaseOverrun, true, true, 1, "The history does not tell that"},
		{"the successor asked again when the holder had been granted the key",
			story("sent=5 came=9", "sent=800 came=890"), KindLeaseOverrun, false, false, 1,
			"went on as holder (client 1 was first, unless the lock sends more requests when it has been granted a key: the last request of client 2 left at 1.800 s)."},
		{"the successor's last request is older than the holder's grant", story("sent=5 came=9", "sent=10 came=890"),
			KindLeaseOverrun, true, true, 1, "The history does not tell that"},
		{"the successor's answer had arrived before the holder asked", story("sent=5 came=9", "sent=-5 came=-1"),
			KindGrantedWhileValid, false, false, 2,
			"(client 2 was first: the service's last answer to it had arrived at 0.999 s, before client 1 asked)"},
		{"the successor's answer came while the holder asked", story("sent=5 came=9", "sent=-5 came=1"),
			KindLeaseOverrun, true, true, 1, "The history does not tell that"},
		{"the holder's answer had arrived before its successor asked",
			strings.NewReplacer("A acquire [0,10]", "A acquire [0,890]", "[-5,900]", "[5,900]", "pause A [20",
				"pause A [891").Replace(story("sent=1 came=4", "")),
			KindLeaseOverrun, false, false, 1,
			"(client 1 was first: the service's last answer to it had arrived at 1.004 s, before client 2 asked)"},
		{"the holder's answer had arrived as its successor asked",
			strings.NewReplacer("A acquire [0,10]", "A acquire [0,890]", "[-5,900]", "[5,900]", "pause A [20",
				"pause A [891").Replace(story("sent=1 came=5", "")),
			KindLeaseOverrun, false, true, 1, "which of them was granted it first, the history does not tell"},
		{"in each order an overrun, and the successor's answer had arrived before the holder asked",
			strings.Replace(story("", "came=-1"), "pause A [20,1490]", "pause A [20,1490]\npause B [20,890]", 1),
			KindLeaseOverrun, false, false, 2,
			"client 2 was frozen for 0.870 s, outlived its lease of 0.500 s and went on as holder (client 2 was first"},
		{"a dead grant, whose successor's answer had arrived before",
			strings.NewReplacer("[0,10]", "[0,700]", "pause A [20",
				"pause A [710").Replace(story("attempt=0", "came=-1")), KindGrantedDead, false, false, 1, "that grant was over already"},
		{"the holder's last request would convict",
			strings.NewReplacer("A acquire [0,10]", "B renew [485,486]\n\t\tA acquire [-20,600]", "[-5,900]",
				"[-5,480]", "pause A [20", "pause A [610").Replace(story("sent=580 came=590", "sent=1 came=479")),
			KindLeaseOverrun, true, true, 1, "if it was granted the key first"},
	} {
		t.Run(x.name, func(t *testing.T) {
			lock := plainLock()
			if x.kind == KindLeaseOverrun && x.first == 2 {
				lock = noClaims(lock)
			}
			verdict := lock.judge(t, x.text)
			r := verdict.Property(MutualExclusion)
			if r.Count != 1 || len(r.Violations) != 1 {
				t.Fatalf("%s ×%d", r.Outcome, r.Count)
			}
			v := &r.Violations[0]
			if v.Kind != x.kind || v.Assumed != x.assumed || v.Unordered != x.unordered || v.A.Client != x.first ||
				!strings.Contains(v.Text, x.says) {
				t.Errorf("%s, assumed: %v, unordered: %v, client %d first: %s", v.Kind, v.Assumed, v.Unordered, v.A.Client, v.Text)
			}
		})
	}
}
