package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// guest is the program of testdata/guest, which the interpreter runs: compiling it takes longer
// than all tests.
var guest = sync.OnceValues(func() (*Program, error) {
	wasm, err := Build(context.Background(), "testdata/guest")
	if err != nil {
		return nil, err
	}
	return Load(context.Background(), wasm, Options{Interpret: true, Memory: 128 << 20})
})

// played is a World with a Redis and one instance of the guest.
type played struct {
	*World
	client, server *Host
	node           *Node
	in             *Instance
	out            []string
	status         uint32
	over           bool
}

func play(t *testing.T, seed uint64, l Limits, args ...string) *played {
	t.Helper()
	p, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	x := &played{World: New(seed, l)}
	t.Cleanup(x.Close)
	x.server, x.client = x.AddHost("redis-1"), x.AddHost("client-1")
	if x.node, err = x.server.Redis(); err != nil {
		t.Fatal(err)
	}
	x.in = x.client.Start(p, Start{Name: "the guest", Args: append([]string{"guest"}, args...),
		Line: func(text []byte) { x.out = append(x.out, string(text)) }, Exited: func(status uint32) { x.status, x.over = status, true }})
	return x
}

func (x *played) run() error { return x.Run(func() bool { return x.over }) }

func TestHostileProgramsAreContained(t *testing.T) {
	for _, c := range []struct {
		mode string
		l    Limits
		want string
	}{
		{"loop", Limits{Silent: 500 * time.Millisecond}, "the guest computed for 500ms of real time without a host call"},
		{"spin", Limits{}, "the guest made 2000000 host calls within "},
		{"spin", Limits{HostCalls: 10_000}, "the run made more than 10000 host calls, the last by the guest: clock_time_get, "},
	} {
		t.Run(c.mode, func(t *testing.T) {
			x := play(t, 1, c.l, c.mode)
			if err := x.run(); err == nil || !strings.HasPrefix(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "clock_time_get") && c.mode == "spin" {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	t.Run("memory", func(t *testing.T) {
		x := play(t, 1, Limits{}, "memory")
		if err := x.run(); err != nil || x.status != 2 { // Go's "out of memory"
			t.Errorf("status %d, %v", x.status, err)
		}
	})
	t.Run("files", func(t *testing.T) {
		x := play(t, 1, Limits{}, "files")
		if err := x.run(); err != nil {
			t.Fatal(err)
		}
		// Go's own network, inside of the program
		if got := strings.Join(x.out, "\n"); got != "read: true\nwrite: true\nlist: true\nlisten: <nil>" {
			t.Error(got)
		}
	})
}

func TestTimeIsVirtual(t *testing.T) {
	began := time.Now()
	x := play(t, 1, Limits{}, "clock")
	if err := x.run(); err != nil {
		t.Fatal(err)
	}
	if len(x.out) != 1 || x.out[0] != "1h0m0s 2030-01-01" || x.Now() < int64(time.Hour) {
		t.Errorf("%q at %v", x.out, time.Duration(x.Now()))
	}
	if real := time.Since(began); real > time.Minute {
		t.Errorf("an hour of virtual time took %v", real)
	}
}

func TestStandardInput(t *testing.T) {
	x := play(t, 1, Limits{}, "echo")
	x.After(time.Second, func() { x.in.Send([]byte("one\ntw")) })
	x.After(2*time.Second, func() { x.in.Send([]byte("o\n")) })
	x.After(3*time.Second, x.in.CloseInput)
	if err := x.run(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(x.out, ", "); got != "heard one, heard two" {
		t.Error(got)
	}
}

// TestLinks: what faults of links and of nodes do to a program that dials and asks twice.
func TestLinks(t *testing.T) {
	const pong = `"+PONG\r\n" <nil>`
	for _, c := range []struct {
		name  string
		fault func(x *played)
		want  []string
	}{
		{"none", func(*played) {}, []string{pong + " false", pong + " false"}},
		{"nobody listens", func(x *played) { x.node.Crash() }, []string{"dial: "}},
		{"cut for good", func(x *played) { x.Link(x.client, x.server).Cut++ }, []string{"dial: "}},
		{"slow", func(x *played) { x.Link(x.server, x.client).Delay = 200 * time.Millisecond }, []string{pong + " true", pong + " true"}},
		{"the first request is held", func(x *played) {
			l, held := x.Link(x.client, x.server), false
			l.Trap = func(s *Segment) Verdict {
				if held || len(s.Bytes) == 0 {
					return Pass
				}
				held = true
				x.After(time.Second, s.Release)
				return Hold
			}
		}, []string{pong + " true", pong + " false"}},
		{"the second connection breaks", func(x *played) {
			l, n := x.Link(x.client, x.server), 0
			l.Trap = func(s *Segment) Verdict {
				if n += min(len(s.Bytes), 1); n == 2 {
					return Break
				}
				return Pass
			}
		}, []string{pong + " false", `"" read tcp`}},
		{"the server stands still", func(x *played) {
			x.server.Freeze()
			x.After(time.Second, x.server.Thaw)
		}, []string{pong + " true", pong + " false"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := play(t, 1, Limits{}, "ask", "10.88.0.2:6379")
			c.fault(x)
			if err := x.run(); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if i >= len(x.out) || !strings.HasPrefix(x.out[i], want) {
					t.Fatalf("%q, want %q", x.out, c.want)
				}
			}
		})
	}
}

// TestLostSegmentsAreRepeated: TCP repeats what a link loses, so a request through a cut of a
// second arrives after it.
func TestLostSegmentsAreRepeated(t *testing.T) {
	x := play(t, 1, Limits{}, "ask", "10.88.0.2:6379")
	l := x.Link(x.client, x.server)
	l.Trap = func(s *Segment) Verdict {
		if len(s.Bytes) > 0 && l.Cut == 0 && l.Dropped == 0 {
			l.Cut++
			x.After(time.Second, func() { l.Cut-- })
		}
		return Pass
	}
	if err := x.run(); err != nil {
		t.Fatal(err)
	}
	if want := `"+PONG\r\n" <nil> true`; len(x.out) != 2 || x.out[0] != want || l.Dropped < 2 {
		t.Errorf("%q, %d dropped", x.out, l.Dropped)
	}
}

// TestDoubledSegmentsAreTakenOnce: a program and a server see nothing of copies.
func TestDoubledSegmentsAreTakenOnce(t *testing.T) {
	x := play(t, 1, Limits{}, "ask", "10.88.0.2:6379")
	there, back := x.Link(x.client, x.server), x.Link(x.server, x.client)
	there.Double, back.Double = 1, 1
	if err := x.run(); err != nil {
		t.Fatal(err)
	}
	if len(x.out) != 2 || !strings.HasPrefix(x.out[1], `"+PONG\r\n" <nil>`) || x.node.Served() != 2 ||
		there.Doubled < 3 || back.Doubled < 3 {
		t.Errorf("%q, %d commands, %d and %d segments twice", x.out, x.node.Served(), there.Doubled, back.Doubled)
	}
}

// TestReorderedSegments: segments overtake those of other connections, and none of their own.
func TestReorderedSegments(t *testing.T) {
	w := New(1, Limits{})
	defer w.Close()
	a, b := w.AddHost("a"), w.AddHost("b")
	l := w.Link(a, b)
	l.Detour, l.Overtake = 50*time.Millisecond, 0.5
	const each = 20
	var order []int
	for i := range each {
		c := w.Channel(a, b)
		c.Ask("first", func() { order = append(order, 2*i) })
		c.Ask("second", func() { order = append(order, 2*i+1) })
	}
	if err := w.Run(func() bool { return len(order) == 2*each }); err != nil {
		t.Fatal(err)
	}
	overtook := 0
	for i := range each {
		if slices.Index(order, 2*i) > slices.Index(order, 2*i+1) {
			t.Errorf("on connection %d the second came before the first", i)
		}
	}
	for i := 1; i < len(order); i++ {
		if order[i] < order[i-1] {
			overtook++
		}
	}
	if overtook == 0 || l.Ahead == 0 || l.Late == 0 || l.Ahead+l.Late != 2*each {
		t.Errorf("%d overtook; %+v", overtook, l.Counts)
	}
}

// TestSteadyDraws: what is steady is drawn no more, and nothing else changes with it.
func TestSteadyDraws(t *testing.T) {
	latencies := func(steady ...string) (ab, ac []time.Duration, wake, tie int64) {
		w := New(7, Limits{})
		w.Steady(steady...)
		a, b, c := w.AddHost("a"), w.AddHost("b"), w.AddHost("c")
		for range 5 {
			ab, ac = append(ab, w.Link(b, a).latency()), append(ac, w.Link(a, c).latency())
		}
		wake = (&Instance{w: w, host: a}).wakeCost()
		w.push(event{})
		return ab, ac, wake, int64(w.events[0].tie)
	}
	ab, ac, wake, tie := latencies()
	abs, acs, wakes, ties := latencies(LinkDraws("a", "b"))
	if !slices.Equal(slices.Compact(slices.Clone(abs)), []time.Duration{latencyLeast + latencyMore/2}) || slices.Equal(ab, abs) {
		t.Errorf("a and b: %v, steady %v", ab, abs)
	}
	if !slices.Equal(ac, acs) || wake != wakes || tie != ties || tie == 0 {
		t.Error("other draws have changed")
	}
	if _, _, wakes, ties = latencies(HostDraws("a"), TieDraws); wakes != 22_000 || ties != 0 {
		t.Errorf("a host's wakes cost %d ns, and the tie is %d", wakes, ties)
	}
}

// TestSameSeedSameTrace: every host call and every command of a run follow the seed.
func TestSameSeedSameTrace(t *testing.T) {
	trace := func(seed uint64) string {
		var b bytes.Buffer
		x := play(t, seed, Limits{}, "ask", "10.88.0.2:6379")
		x.Trace(func(at int64, who, what string) { fmt.Fprintln(&b, at, who, what) })
		x.Link(x.client, x.server).Loss = 0.3
		if err := x.run(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if one, two := trace(1), trace(1); one != two || one == "" {
		t.Error("the same seed gave another run")
	}
	if trace(1) == trace(2) {
		t.Error("another seed gave the same run")
	}
}

func TestKilledProgramIsGone(t *testing.T) {
	x := play(t, 1, Limits{}, "ask", "10.88.0.2:6379")
	x.server.Freeze()
	x.After(time.Second, func() {
		if len(x.node.sockets) != 1 {
			t.Errorf("%d connections before", len(x.node.sockets))
		}
		x.in.Kill()
		x.over = true
	})
	if err := x.run(); err != nil {
		t.Fatal(err)
	}
	if !x.in.Ended() || len(x.out) != 0 || len(x.node.sockets) != 0 {
		t.Errorf("%q, %d connections", x.out, len(x.node.sockets))
	}
}

// TestClocks: a program reads what its host's clocks show, and its timers go by them.
func TestClocks(t *testing.T) {
	x := play(t, 1, Limits{}, "clock")
	x.client.Skew(false, func(_ *Clock, run func(float64)) { run(2) })
	x.client.Skew(true, func(c *Clock, _ func(float64)) { c.Jump(48 * time.Hour) })
	if err := x.run(); err != nil {
		t.Fatal(err)
	}
	if took := time.Duration(x.Now()).Round(time.Minute); len(x.out) != 1 || x.out[0] != "1h0m0s 2030-01-03" || took != 30*time.Minute {
		t.Errorf("%q in %v", x.out, took)
	}
}

func TestCommand(t *testing.T) {
	whole := "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	read := func(parts ...string) (all []string, err error) {
		var c commands
		for _, p := range parts {
			if err := c.feed([]byte(p), func(args []string) { all = append(all, fmt.Sprint(args)) }); err != nil {
				return all, err
			}
		}
		return all, nil
	}
	for n := range len(whole) {
		if all, err := read(whole[:n]); all != nil || err != nil {
			t.Errorf("%q: %q, %v", whole[:n], all, err)
		}
		if all, err := read(whole[:n], whole[n:]+whole+"*"); fmt.Sprint(all) != "[[GET k] [GET k]]" || err != nil {
			t.Errorf("in two parts, of %d bytes: %q, %v", n, all, err)
		}
	}
	for _, bad := range []string{"PING\r\n", "*0\r\n", "*-1\r\n", "*999999999\r\n", "*1\r\n$-3\r\n",
		"*1\r\n$99999999\r\n", "*1\r\n+x\r\n", "*x\r\n", "*" + strings.Repeat("1", 40)} {
		if all, err := read(bad); err == nil {
			t.Errorf("%q was taken for %q", bad, all)
		}
	}
}

// TestLoopsAreWatched: every loop of a program of Go looks whether it is to
// stop, and an instruction that is not known leaves a module as it is.
func TestLoopsAreWatched(t *testing.T) {
	p, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	if p.images != nil && !p.watched {
		t.Error("the guest's loops are not watched")
	}
	const before = "\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01"
	for _, c := range []struct{ body, want string }{
		{"\x01\x01\x7f\x03\x40\x0c\x00\x0b\x0b", "\x01\x01\x7f\x03\x40" + string(looks) + "\x0c\x00\x0b\x0b"},
		{"\x00\x0e\x02\x00\x01\x00\x44\x03\x40\x03\x40\x03\x40\x03\x40\x0b",
			"\x00\x0e\x02\x00\x01\x00\x44\x03\x40\x03\x40\x03\x40\x03\x40\x0b"},
		{"\x00\x03\x40\xfd\x0b\x0b", ""},
		{"\x00\x41", ""},
	} {
		section := func(body string) string {
			return fmt.Sprintf("%s\x0a%c\x01%c%s", before, len(body)+2, len(body), body)
		}
		watched, ok := watchLoops([]byte(section(c.body)))
		if ok != (c.want != "") || ok && string(watched) != section(c.want) {
			t.Errorf("%q: %q, %v", c.body, watched, ok)
		}
	}
}

func FuzzWatchLoops(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x0a\x0a\x01\x08\x00\x03\x40\x0c\x00\x0b\x0b\x01"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x0a\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		watched, ok := watchLoops(wasm)
		if ok && len(watched) > len(wasm)*(len(looks)+1)+16 {
			t.Errorf("%d bytes of %d", len(watched), len(wasm))
		}
	})
}

func FuzzSplitData(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x0c\x01\x01\x0b\x07\x01\x00\x41\x08\x0b\x01x"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x0b\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if rest, image, ok := splitData(wasm); ok && len(rest) > len(wasm) {
			t.Errorf("%d bytes of %d, %d of data", len(rest), len(wasm), len(image))
		}
	})
}
