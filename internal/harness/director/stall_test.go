package director

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
)

func TestUnexplained(t *testing.T) {
	pauses := []span{{client: 1, from: 100, to: 200}, {client: 2, from: 0, to: 1000}, {client: 1, from: 300, to: 400},
		{client: 1, from: 900}}
	for _, c := range []struct {
		name               string
		client             int32
		from, to           int64
		wantFrom, wantSpan int64
	}{
		{"no pause near", 1, 500, 600, 500, 100},
		{"another client's pause explains nothing", 3, 100, 200, 100, 100},
		{"wholly inside a pause", 1, 110, 190, 110, 0},
		{"a pause but for its edges", 1, 98, 203, 200, 3},
		{"more before the pause", 1, 50, 201, 50, 50},
		{"between two pauses", 1, 150, 350, 200, 100},
		{"a pause that still lasts", 1, 895, 5000, 895, 5},
		{"began inside a pause", 1, 390, 700, 400, 300},
	} {
		from, to := unexplained(c.from, c.to, pauses, c.client)
		if from != c.wantFrom || to-from != c.wantSpan {
			t.Errorf("%s: [%d, %d], want %d from %d", c.name, from, to, c.wantSpan, c.wantFrom)
		}
	}
}

// TestPausesAreNoStalls: a client that stands still while a fault stops it does
// not stall, and one that stands still for longer does.
func TestPausesAreNoStalls(t *testing.T) {
	var file bytes.Buffer
	rec, err := history.NewRecorder(&file, history.Header{Format: history.FormatVersion, Origin: 1}, []string{"k0"},
		func() int64 { return 2_000_000_001 })
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Setting{Recorder: rec, IDs: &wire.Numbers{}})
	if err != nil {
		t.Fatal(err)
	}
	d.spans = []span{{client: 2, from: 500e6, to: 900e6}}
	seen := func(time.Duration) string { return "late" }
	d.NoteStall(2, 480e6, 930e6, 50*time.Millisecond, seen)
	d.NoteStall(2, 700e6, 1000e6, 50*time.Millisecond, seen)
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(&file, "stalls")
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int64
	for i := range h.Events {
		if f := h.Events[i].Fault; f != nil && f.Phase == "end" {
			got = append(got, [2]int64{f.From, f.To})
		}
	}
	if len(got) != 1 || got[0] != [2]int64{900e6, 1000e6} {
		t.Errorf("stalls %v, and only that from 900 ms to 1 s is none of the pause", got)
	}
}
