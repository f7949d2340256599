package director

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
)

// TestHeldUpIsTold: while a fault that may miss is injected, the client's
// application waits for it. That costs a client its lease, so the history tells it.
func TestHeldUpIsTold(t *testing.T) {
	strike := func(kind string) nemesis.Strike {
		return nemesis.Strike{Parts: []nemesis.Part{{Spec: nemesis.Spec{Kind: kind}}}}
	}
	for _, c := range []struct {
		name  string
		kind  string
		since int64 // ns before now
		want  bool
	}{
		{"long", nemesis.KindExpireSession, int64(300 * time.Millisecond), true},
		{"not for long", nemesis.KindExpireSession, 0, false},
		{"a fault that was recorded before it struck", nemesis.KindPause, int64(300 * time.Millisecond), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var file bytes.Buffer
			rec, err := history.NewRecorder(&file, history.Header{Format: history.FormatVersion, Origin: 1}, []string{"k0"}, monotime.Now)
			if err != nil {
				t.Fatal(err)
			}
			d := &Director{set: Setting{Recorder: rec, IDs: &wire.Numbers{}}, ttl: 2 * time.Second}
			d.heldUp(3, rec.Now()-c.since, strike(c.kind))
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			h, err := history.ReadAll(&file, "x.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			told := 0
			for _, e := range h.Events {
				if f := e.Fault; e.Type == history.Fault && f.Phase == "end" {
					told++
					if e.Client != 3 || len(f.Clients) != 0 || !f.Injected || f.Kind != "stall" || f.To-f.From < c.since {
						t.Errorf("%+v by client %d", f, e.Client)
					}
				}
			}
			if (told == 1) != c.want {
				t.Errorf("told %d times", told)
			}
		})
	}
}
