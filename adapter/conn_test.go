package adapter

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// played is an adapter that the test plays, in this process.
type played struct {
	conn   *Conn
	in     *bufio.Scanner // what the adapter reads
	out    *io.PipeWriter
	exited chan struct{}
	lost   chan Event
}

func (p *played) Exited() <-chan struct{} { return p.exited }
func (p *played) How() string             { return "exit status 7" }
func (p *played) Log() string             { return "Traceback: no such module\n" }

// play starts one, which answers as the test wants.
func play(t testing.TB) *played {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	p := &played{in: bufio.NewScanner(inRead), out: outWrite, exited: make(chan struct{}), lost: make(chan Event, 100)}
	p.conn = NewConn(inWrite, outRead, Options{Command: "my lock", Process: p, Grace: 200 * time.Millisecond, Lost: func(e Event) {
		select {
		case p.lost <- e:
		default:
		}
	}})
	t.Cleanup(func() { inRead.Close(); outWrite.Close() })
	return p
}

// answers lets the adapter read a request and print these bytes.
func (p *played) answers(text string) {
	go func() {
		if p.in.Scan() {
			_, _ = io.WriteString(p.out, text) // the test may be over
		}
	}()
}

func TestAnswers(t *testing.T) {
	p := play(t)
	p.answers(`{"id":1,"ok":true,"name":"a 1","validity":"library","token":"fencing","confirms":["release"],"can":["held"],"lost_grace_ms":1.5,"fair":true}` + "\r\n")
	r, err := p.conn.Ask(Request{Op: OpHello, TimeoutMS: 1000, Greeting: &Greeting{Protocol: Version}})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Declaration
	if d.Name != "a 1" || d.Permits != 1 || d.LostGrace != 1500*time.Microsecond || !d.Fair || !d.Does(OpHeld) ||
		d.Does(OpRenew) || !d.Does(OpRelease) {
		t.Errorf("%+v", d)
	}
	p.answers("\n" + `{"event":"lost","key":"k0","grant":2,"why":"so"}` + "\n" +
		`{"id":2,"ok":true,"token":"9223372036854775807","valid_for_ms":0.25,"attempt_ns":5}` + "\n")
	r, err = p.conn.Ask(Request{Op: OpAcquire, Key: "k0", TimeoutMS: 1000})
	if err != nil || r.Token != 1<<63-1 || r.ValidFor != 250*time.Microsecond || r.Attempt != 5 || r.ID != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if e := <-p.lost; e != (Event{Kind: EventLost, Key: "k0", Grant: 2, Why: "so"}) {
		t.Errorf("%+v", e)
	}
	p.answers(`{"id":3,"ok":false,"error":"busy","text":"c2 has it"}` + "\n")
	if r, err = p.conn.Ask(Request{Op: OpAcquire, Key: "k0", TimeoutMS: 1000}); err != nil || r.OK || r.Error != Busy ||
		r.Text != "c2 has it" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCancel: an acquire that is given up is told so, with its own ID, and its
// answer counts whatever it is. The end of its time is no giving up.
func TestCancel(t *testing.T) {
	p := play(t)
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string, 1)
	go func() {
		p.in.Scan()
		cancel()
		p.in.Scan()
		told <- p.in.Text()
		_, _ = io.WriteString(p.out, `{"id":1,"ok":true}`+"\n")
	}()
	if r, err := p.conn.AskUntil(ctx, Request{Op: OpAcquire, Key: "k0", TimeoutMS: 60_000}); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
	if line := <-told; line != `{"id":1,"op":"cancel"}` {
		t.Errorf("it was told %s", line)
	}
	over, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	p.answers(`{"id":2,"ok":false,"error":"busy"}` + "\n")
	if r, err := p.conn.AskUntil(over, Request{Op: OpAcquire, Key: "k0", TimeoutMS: 1}); err != nil || r.Error != Busy {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSessions: a session is a number, decimal or hexadecimal, with a password
// where the service wants one.
func TestSessions(t *testing.T) {
	p := play(t)
	for i, c := range []struct {
		printed, password string
		id                int64
	}{{`"ok":true,"name":"a","sessions":true,"session":"0x10000a3b2c0001:9f86"`, "\x9f\x86", 0x10000a3b2c0001},
		{`"ok":true,"session":"7587871234567"`, "", 7587871234567},
		{`"ok":false,"error":"busy","session":"0xffffffffffffffff"`, "", -1}, {`"ok":true`, "", 0}} {
		p.answers(fmt.Sprintf(`{"id":%d,%s}`+"\n", i+1, c.printed))
		request := Request{Op: OpAcquire, Key: "k0", TimeoutMS: 1000}
		if i == 0 {
			request = Request{Op: OpHello, TimeoutMS: 1000, Greeting: &Greeting{Protocol: Version}}
		}
		r, err := p.conn.Ask(request)
		if err != nil || r.Session.ID != c.id || string(r.Session.Password) != c.password {
			t.Errorf("%s: %+v, %v", c.printed, r.Session, err)
		}
	}
	for said, reply := range map[bool]Reply{true: {}, false: {Session: Session{ID: 1}}} {
		if what := (&Declaration{Token: "none", Sessions: said}).Contradiction(OpAcquire,
			reply); !strings.Contains(what, "a session, and ") {
			t.Errorf("declared %t: %q", said, what)
		}
	}
}

// TestBreaks: whatever no adapter may do is told by what it did, with its
// command and the end of its log.
func TestBreaks(t *testing.T) {
	for _, c := range []struct{ name, op, printed, want string }{
		{"text", OpAcquire, "connecting to redis\n",
			`printed "connecting to redis", which is no JSON object; what is for humans belongs on standard error`},
		{"java", OpAcquire, "[0.019s][warning][perf,memops] Cannot use file /tmp/hsperfdata_me/103 because it is locked by another process\n", "which is no JSON object: start java with -XX:-UsePerfData"},
		{"invalid UTF-8", OpAcquire, "{\"id\":1,\"ok\":true,\"text\":\"\xff\"}\n", "which is not valid UTF-8"},
		{"half a line", OpAcquire, `{"id":1,"ok":` + "\n", "which is no JSON"},
		{"two on a line", OpAcquire, `{"id":1,"ok":true} {"id":2}` + "\n", "goes on after the JSON object"},
		{"a list", OpAcquire, "[1]\n", "is no JSON object"},
		{"megabytes", OpAcquire, strings.Repeat("x", 3*maxLine), "printed a line longer than 1024 KiB, which begins with \"xxx"},
		{"no id", OpAcquire, `{"ok":true}` + "\n", `has neither "id" (a reply) nor "event"`},
		{"id as text", OpAcquire, `{"id":"1","ok":true}` + "\n", `"id" is "\"1\""`},
		{"wrong id", OpAcquire, `{"id":99,"ok":true}` + "\n", "answers request 99, which was never made (the last one is 1)"},
		{"negative id", OpAcquire, `{"id":-1,"ok":true}` + "\n", "answers request -1, which was never made"},
		{"no ok", OpAcquire, `{"id":1}` + "\n", `has no "ok"`},
		{"ok is no flag", OpAcquire, `{"id":1,"ok":"yes"}` + "\n", `"ok" is "\"yes\"": it must be true or false`},
		{"ok is null", OpAcquire, `{"id":1,"ok":null}` + "\n", `"ok" is "null"`},
		{"failure without a word", OpAcquire, `{"id":1,"ok":false}` + "\n", `says that it failed, and no "error"`},
		{"ok and an error", OpAcquire, `{"id":1,"ok":true,"error":"busy"}` + "\n", `says ok, and an error ("busy")`},
		{"misspelt", OpAcquire, `{"id":1,"ok":true,"tokn":3}` + "\n",
			`has the unknown member "tokn": a reply to acquire with ok true may have "ok", "error", "text", "token"`},
		{"token of a release", OpRelease, `{"id":1,"ok":true,"token":3}` + "\n", `has the unknown member "token"`},
		{"twice the same member", OpAcquire, `{"id":1,"ok":true,"token":3,"token":4}` + "\n", `has the member "token" twice`},
		{"token 0", OpAcquire, `{"id":1,"ok":true,"token":0}` + "\n", `"token" is "0": it must be a positive whole number`},
		{"token with a fraction", OpAcquire, `{"id":1,"ok":true,"token":1.5}` + "\n", `"token" is "1.5"`},
		{"token too large", OpAcquire, `{"id":1,"ok":true,"token":9223372036854775808}` + "\n", "it must be a positive whole number"},
		{"valid for ages", OpAcquire, `{"id":1,"ok":true,"valid_for_ms":1e300}` + "\n", "more than a year"},
		{"a session that is no number", OpAcquire, `{"id":1,"ok":true,"session":"mine"}` + "\n",
			`"session" is "mine": it must be a number, and for ZooKeeper`},
		{"session 0", OpAcquire, `{"id":1,"ok":true,"session":"0"}` + "\n", `"session" is "0": it must be a number`},
		{"an odd password", OpAcquire, `{"id":1,"ok":true,"session":"0x1:abc"}` + "\n", `"session" is "0x1": it must be a number`},
		{"a session that is not declared", OpHello, `{"id":1,"ok":true,"name":"a","session":"1"}` + "\n",
			`has "session" without "sessions": true`},
		{"no name", OpHello, `{"id":1,"ok":true}` + "\n", `"name" is ""`},
		{"a name with an escape", OpHello, `{"id":1,"ok":true,"name":"\u001b[31m"}` + "\n", `"name" is "\x1b[31m"`},
		{"unknown validity", OpHello, `{"id":1,"ok":true,"name":"a","validity":"forever"}` + "\n",
			`"validity" is "forever": it must be one of "", "library", "from_invocation", "session"`},
		{"unknown token", OpHello, `{"id":1,"ok":true,"name":"a","token":"uuid"}` + "\n", `"token" is "uuid"`},
		{"confirms acquire", OpHello, `{"id":1,"ok":true,"name":"a","confirms":["acquire"]}` + "\n", `"confirms" has "acquire"`},
		{"no permits", OpHello, `{"id":1,"ok":true,"name":"a","permits":0}` + "\n", `"permits" is 0`},
		{"more permits an acquire than there are", OpHello,
			`{"id":1,"ok":true,"name":"a","permits":2,"permits_per_acquire":3}` + "\n", `"permits_per_acquire" is 3, of 2 permits`},
		{"keys without end", OpHello, `{"id":1,"ok":true,"name":"a","multi_key":65}` + "\n", `"multi_key" is 65: it lies between 1 and 64`},
		{"several keys of a semaphore", OpHello, `{"id":1,"ok":true,"name":"a","permits":2,"multi_key":2}` + "\n",
			`"multi_key" with "permits"`},
		{"readers of a semaphore", OpHello, `{"id":1,"ok":true,"name":"a","permits":2,"read_write":true}` + "\n",
			`"read_write" with "permits" 2`},
		{"other protocol", OpHello, `{"id":1,"ok":true,"name":"a","protocol":2}` + "\n", "says protocol 2: this is 1"},
		{"negative grace", OpHello, `{"id":1,"ok":true,"name":"a","lost_grace_ms":-1}` + "\n", `"lost_grace_ms" is negative`},
		{"unknown way to notice", OpHello, `{"id":1,"ok":true,"name":"a","lost_grace_ms":5,"notices":"always"}` + "\n",
			`"notices" is "always": it must be one of "", "undisturbed", "alone"`},
		{"unknown tolerance", OpHello, `{"id":1,"ok":true,"name":"a","tolerates":"majority"}` + "\n",
			`"tolerates" is "majority": it must be one of "", "minority"`},
		{"a lease of no time", OpHello, `{"id":1,"ok":true,"name":"a","lease_ms":0}` + "\n",
			`"lease_ms" is 0s: it must be a whole number of milliseconds above 0`},
		{"a lease with a fraction", OpHello, `{"id":1,"ok":true,"name":"a","lease_ms":1.5}` + "\n",
			`"lease_ms" is 1.5ms: it must be a whole number of milliseconds`},
		{"a lease of days", OpHello, `{"id":1,"ok":true,"name":"a","lease_ms":86400001}` + "\n", "a day at most"},
		{"abandons at once", OpHello, `{"id":1,"ok":true,"name":"a","abandons_ms":0}` + "\n", `"abandons_ms" must be greater than 0`},
		{"notices at some time", OpHello, `{"id":1,"ok":true,"name":"a","notices":"alone"}` + "\n",
			`"notices" is "alone" without "lost_grace_ms"`},
		{"unknown event", OpAcquire, `{"event":"won","key":"k"}` + "\n", `is an event "won": there is only lost`},
		{"event without a key", OpAcquire, `{"event":"lost"}` + "\n", `is a lost-event without "key"`},
		{"flood", OpAcquire, strings.Repeat(`{"event":"lost","key":"k0"}`+"\n", maxEvents+1),
			"is the 10001th lost-event since the last request"},
		{"silence", OpAcquire, "", "has not answered acquire (request 1) for 201ms: its time limit of 1ms, and 200ms more. Has every call of its library a time limit?"},
		{"silence at first", OpHello, "", "Does it flush its standard output after every line?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := play(t)
			p.answers(c.printed)
			limit := int64(60_000)
			if c.printed == "" {
				limit = 1
			}
			_, err := p.conn.Ask(Request{Op: c.op, Key: "k0", TimeoutMS: limit})
			checkBroken(t, err, c.want)
			if _, again := p.conn.Ask(Request{Op: OpClose, TimeoutMS: limit}); again == nil || again.Error() != err.Error() {
				t.Errorf("asked again: %v", again)
			}
		})
	}
}

func checkBroken(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, ErrBroken) || !strings.HasPrefix(err.Error(), `the adapter "my lock" `) || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "Traceback: no such module") {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestTwice: the second answer may come at any time, before the next request or after.
func TestTwice(t *testing.T) {
	p := play(t)
	p.answers(`{"id":1,"ok":true}` + "\n" + `{"id":1,"ok":true}` + "\n")
	if _, err := p.conn.Ask(Request{Op: OpRelease, TimeoutMS: 60_000}); err != nil {
		t.Fatal(err)
	}
	<-p.conn.Gone()
	_, err := p.conn.Ask(Request{Op: OpRelease, TimeoutMS: 60_000})
	checkBroken(t, err, "which answers request 1 twice")
}

// TestEnds: of the process, of its output, and of neither alone.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name         string
		exits, quits bool // the process; its output
		want         string
	}{
		{"both", true, true, "ended (exit status 7) before it had answered acquire (request 1)"},
		{"a child lives on", true, false, "and what it started holds its output open"},
		{"output closed", false, true, "closed its standard output before it had answered acquire (request 1), and runs on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := play(t)
			go func() {
				p.in.Scan()
				if c.exits {
					close(p.exited)
				}
				if c.quits {
					p.out.Close()
				}
			}()
			_, err := p.conn.Ask(Request{Op: OpAcquire, TimeoutMS: 60_000})
			checkBroken(t, err, c.want)
		})
	}
}

// TestExpectedEnd: who has been told to close may go, and an answer that came
// before the end counts.
func TestExpectedEnd(t *testing.T) {
	p := play(t)
	p.conn.Expect()
	close(p.exited)
	p.out.Close()
	select {
	case <-p.conn.Gone():
		t.Errorf("an expected end: %v", p.conn.Broken())
	case <-time.After(deathNotice + 100*time.Millisecond): // nothing else can show that nothing comes
	}
}

// TestRandomBytes: whatever an adapter prints, Ask returns: with the one right
// answer, or with the adapter broken. Nothing panics, nothing is read twice.
func TestRandomBytes(t *testing.T) {
	right := `{"id":1,"ok":true,"token":7}`
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.OneOf(
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{right, right + "\n", "\n", `{"event":"lost","key":"k"}` + "\n",
				`{"id":1,"ok":false,"error":"x"}` + "\n", `{"id":2,"ok":true}` + "\n",
				`{"id":1,`, `"token":"x"`, "{", "}", `"`, "\\", "\x00", "\r\n"}),
		)
		text := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(rt, "printed"), "")
		p := play(t)
		go func() {
			p.in.Scan()
			_, _ = io.WriteString(p.out, text)
		}()
		p.conn.grace = 20 * time.Millisecond // what holds no answer never will
		r, err := p.conn.Ask(Request{Op: OpAcquire, Key: "k0", TimeoutMS: 1})
		switch {
		case err != nil && !errors.Is(err, ErrBroken):
			rt.Fatalf("%q: %v", text, err)
		case err == nil && !strings.Contains(text, `"id":1`):
			rt.Fatalf("%q was taken for the answer %+v", text, r)
		case err == nil && r.OK && r.Token != 7 && strings.Contains(text, right):
			rt.Fatalf("%q: %+v", text, r)
		}
	})
}

// FuzzLine: a line that is taken for a reply says so itself, when encoding/json reads it.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{`{"id":1,"ok":true,"token":7}`, `{"event":"lost","key":"k0","why":"x"}`,
		`{"id":1,"ok":true,"name":"a","confirms":["held"],"permits":3}`, "\xff", "{}", `{"id":1e0}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, op := range []string{OpHello, OpAcquire, OpRenew, OpRelease} {
			l, err := parseLine(bytes.TrimRight(text, "\n"))
			if err != nil || l.event != nil {
				return
			}
			r, err := l.reply(op)
			if err != nil {
				continue
			}
			var std struct {
				ID int64
				OK bool
			}
			if err := json.Unmarshal(text, &std); err != nil || std.ID != r.ID || std.OK != r.OK {
				t.Fatalf("%q is %+v, and %+v to encoding/json (%v)", text, r, std, err)
			}
			if r.OK == (r.Error != "") || r.Token < 0 || op == OpHello && r.OK && (r.Declaration == nil || r.Declaration.Permits < 1) {
				t.Fatalf("%q is taken for %s", text, fmt.Sprintf("%+v", r))
			}
		}
	})
}
