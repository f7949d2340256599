package sim

import (
	"slices"
	"testing"
)

// TestResume: an instance that begins where another one first waited does what that one did, at the
// same times, and the next random numbers are the same.
func TestResume(t *testing.T) {
	p, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	if p.globals == 0 {
		t.Skip("programs are resumed on Linux")
	}
	p.KeepStarts(true)
	defer p.KeepStarts(false)
	var first *played
	var random uint64
	for run := range 3 {
		x := playSteady(t, 1)
		before := len(p.started.all)
		if err := x.run(); err != nil {
			t.Fatal(err)
		}
		if kept := len(p.started.all) - before; kept != map[bool]int{true: 1}[run == 0] {
			t.Errorf("run %d kept %d starts", run, kept)
		}
		drawn := x.in.random.Uint64()
		if first == nil {
			first, random = x, drawn
		}
		if !slices.Equal(x.out, []string{"heard one", "heard two"}) || x.Now() != first.Now() || x.calls != first.calls ||
			drawn != random {
			t.Errorf("run %d: %q at %d after %d calls, want %d after %d", run, x.out, x.Now(), x.calls, first.Now(), first.calls)
		}
	}
	before := len(p.started.all)
	if other := playSteady(t, 2); other.run() != nil || len(p.started.all) != before+1 {
		t.Error("another seed's random numbers make another start")
	}
}

// playSteady plays the guest that repeats its input, in a world in which nothing is drawn.
func playSteady(t *testing.T, seed uint64) *played {
	t.Helper()
	p, _ := guest()
	x := &played{World: New(seed, Limits{})}
	t.Cleanup(x.Close)
	x.Steady(TieDraws, "client-1")
	x.Repeats()
	x.client = x.AddHost("client-1")
	x.in = x.client.Start(p, Start{Name: "the guest", Args: []string{"guest", "echo"},
		Line: func(text []byte) { x.out = append(x.out, string(text)) }, Exited: func(status uint32) { x.status, x.over = status, true }})
	x.After(1e9, func() { x.in.Send([]byte("one\n")) })
	x.After(2e9, func() { x.in.Send([]byte("two\n")) })
	x.After(3e9, x.in.CloseInput)
	return x
}

// TestNoStartIsKept: one that differs from the next, or that somebody saw, is not kept.
func TestNoStartIsKept(t *testing.T) {
	p, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	p.KeepStarts(true)
	defer p.KeepStarts(false)
	for name, change := range map[string]func(*played){
		"something is drawn":  func(x *played) { x.repeats = false; x.in.origin = x.in.originOf([32]byte{}) },
		"it was spoken to":    func(x *played) { x.in.Send([]byte("zero\n")) },
		"it printed":          func(x *played) { x.in.printed = 1 },
		"its clock was wrong": func(x *played) { x.client.wall.Jump(1); x.in.origin = x.in.originOf([32]byte{}) },
	} {
		x := playSteady(t, 3)
		change(x)
		before := len(p.started.all)
		if err := x.run(); err != nil || len(p.started.all) != before {
			t.Errorf("%s: %v, %d starts more", name, err, len(p.started.all)-before)
		}
	}
}

func FuzzExposeResume(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x02\x0f\x01\x01w\x0bpoll_oneoff\x00\x00\x07\x0a\x01\x06_start\x00\x02\x0a\x0d\x02\x04\x00\x10\x00\x0b\x06\x00\x10\x00\x10\x01\x0b"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x06\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if exposed, globals, ok := exposeResume(wasm); ok && (globals > mostGlobals || len(exposed) > 2*len(wasm)+40*(mostGlobals+2)) {
			t.Errorf("%d bytes of %d, %d globals", len(exposed), len(wasm), globals)
		}
	})
}
