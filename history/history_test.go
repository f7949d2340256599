package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var testKeys = []string{"k0", "k1", "a \"key\" <b>"}

func testHeader() Header {
	return Header{Format: FormatVersion, Scenario: "redis-setnx/none/unfenced", Seed: 7, Started: time.Unix(1_700_000_000, 0).UTC(),
		Origin: 1000, Lock: "redis-setnx", Clients: 4, TTL: 5e8, Claims: Claims{Permits: 1, Confirms: []string{"release"}},
		Translated: true, Untold: map[string]string{"stuck-lock": "Nobody probed."},
		Doubts: map[string]string{"mutual-exclusion": "The clocks can't tell."}}
}

// anyEvent draws an event as the harness could record it.
func anyEvent(t *rapid.T) Event {
	stamp := rapid.Int64Range(0, 1<<50)
	e := Event{Time: rapid.Int64Range(1, 1<<50).Draw(t, "t"), Type: Type(rapid.IntRange(int(Invoke), int(Count)).Draw(t, "type"))}
	switch e.Type {
	case Fault:
		e.Fault = &FaultInfo{ID: 3, Kind: "pause", Phase: "end", Clients: []int32{1, 2}, From: stamp.Draw(t, "from"),
			Evidence: rapid.String().Draw(t, "evidence")}
		return e
	case Watermark, Exit:
		e.Start, e.Client = stamp.Draw(t, "start"), rapid.Int32Range(0, 9).Draw(t, "client")
		return e
	case Mark, Count:
		e.Text = PhaseProbe
		return e
	}
	e.Kind = Kind(rapid.IntRange(int(Acquire), int(Write)).Draw(t, "kind"))
	if e.Type == Invoke && e.Kind == Acquire {
		e.Mode = rapid.SampledFrom([]Mode{ModeRead, ModeWrite}).Draw(t, "mode")
		e.Permits = rapid.Uint8Max(1).Draw(t, "permits")
	}
	if e.Type == Ledger {
		e.Kind = rapid.SampledFrom([]Kind{Read, Write}).Draw(t, "ledger kind")
	}
	e.Op, e.Grant, e.Token = rapid.Int64Range(1, 1e9).Draw(t, "op"), stamp.Draw(t, "grant"), Token(stamp.Draw(t, "token"))
	if e.Type == Invoke && e.Kind <= Held {
		e.Set = rapid.SampledFrom([]int64{0, e.Op}).Draw(t, "set")
	}
	e.Start, e.End, e.Attempt, e.First = stamp.Draw(t, "start"), stamp.Draw(t, "end"), stamp.Draw(t, "attempt"), stamp.Draw(t, "first")
	e.Ended, e.Sent, e.Came = stamp.Draw(t, "ended"), stamp.Draw(t, "sent"), stamp.Draw(t, "came")
	e.Enqueued, e.Version, e.Replaced = stamp.Draw(t, "enqueued"), stamp.Draw(t, "version"), stamp.Draw(t, "replaced")
	e.Value, e.Seq = rapid.Int64().Draw(t, "value"), stamp.Draw(t, "seq")
	if e.HasValidFor = rapid.Bool().Draw(t, "valid"); e.HasValidFor {
		e.ValidFor = rapid.Int64Range(-MaxValidFor, MaxValidFor).Draw(t, "valid for")
	}
	e.Declined, e.Refused = rapid.Bool().Draw(t, "declined"), rapid.Bool().Draw(t, "refused")
	if e.Kind == Write {
		e.Atomic = rapid.Bool().Draw(t, "atomic")
		e.Conflict = !e.Refused && (e.Type == Fail || e.Type == Ledger) && rapid.Bool().Draw(t, "conflict")
	}
	e.NotHeld, e.Busy = rapid.Bool().Draw(t, "not held"), rapid.Bool().Draw(t, "busy")
	e.Key = KeyID(rapid.IntRange(0, len(testKeys)-1).Draw(t, "key"))
	e.Client, e.Process = rapid.Int32Range(1, 99).Draw(t, "client"), rapid.Int32Range(1, 99).Draw(t, "process")
	e.Text = rapid.String().Draw(t, "text")
	return e
}

// What the hand-written encoder writes, the reader reads back, field by field.
func TestEventsSurviveTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(anyEvent), 0, 6).Draw(t, "events")
		header := testHeader()
		header.Claims.ReadWrite = true
		head, err := MarshalHeader(header, testKeys)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if head, err = AppendEvent(head, testKeys, &want[i]); err != nil {
				t.Fatal(err)
			}
		}
		end := Event{Time: 1 << 51, Type: End, Seq: int64(len(want))}
		if head, err = AppendEvent(head, testKeys, &end); err != nil {
			t.Fatal(err)
		}
		got, err := ReadAll(bytes.NewReader(head), "test.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if got.Truncated || len(got.Events) != len(want)+1 {
			t.Fatalf("truncated %v, %d events, want %d", got.Truncated, len(got.Events), len(want)+1)
		}
		for i := range want {
			// A string that is not UTF-8 can't be JSON; rapid draws valid ones only.
			if !reflect.DeepEqual(got.Events[i], want[i]) {
				t.Fatalf("event %d\n got %+v\nwant %+v", i, got.Events[i], want[i])
			}
		}
		if !reflect.DeepEqual(got.Keys, testKeys) || !reflect.DeepEqual(got.Header, header) {
			t.Fatalf("header %+v, keys %q", got.Header, got.Keys)
		}
	})
}

const head = `{"lockchaos":1,"scenario":"s","claims":{"permits":1},"keys":["k0"]}` + "\n"

const readers = `{"lockchaos":1,"scenario":"s","claims":{"permits":1,"read_write":true},"keys":["k0"]}` + "\n"

func TestMalformedInputIsLocated(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "x.jsonl:1: empty file"},
		{"another format", `{"type":"invoke"}` + "\n", `x.jsonl:1: no "lockchaos" field`},
		{"newer format", `{"lockchaos":9}` + "\n", "x.jsonl:1: format version 9, this lockchaos reads versions 1 to 2"},
		{"header cut", `{"lockchaos":1`, "x.jsonl:1: cut inside the header line"},
		{"negative permits", `{"lockchaos":1,"claims":{"permits":-1}}` + "\n", "x.jsonl:1: claims.permits is -1"},
		{"readers beside permits", `{"lockchaos":1,"claims":{"permits":2,"read_write":true}}` + "\n",
			"x.jsonl:1: claims.permits is 2; a reader-writer lock"},
		{"an unknown validity", `{"lockchaos":1,"lock":"libary","claims":{"permits":1, "validity": "libary"}}` + "\n",
			`x.jsonl:1:67: claims.validity: unknown word "libary": want one of`},
		{"an unknown kind of token", `{"lockchaos":1,"claims":{"permits":1,"token":"fence"}}` + "\n",
			`x.jsonl:1:46: claims.token: unknown word "fence"`},
		{"an unknown way to notice", `{"lockchaos":1,"claims":{"permits":1,"lost_grace_ns":5,"notices":"lone"}}` + "\n",
			`x.jsonl:1:66: claims.notices: unknown word "lone": want one of`},
		{"an unknown tolerance", `{"lockchaos":1,"claims":{"permits":1,"tolerates":"majority"}}` + "\n",
			`x.jsonl:1:50: claims.tolerates: unknown word "majority": want one of`},
		{"left behind before it began", `{"lockchaos":1,"claims":{"permits":1,"abandons_ns":-1}}` + "\n",
			`x.jsonl:1: claims.abandons_ns is -1`},
		{"a way to notice at no time", `{"lockchaos":1,"claims":{"permits":1,"notices":"alone"}}` + "\n",
			`x.jsonl:1: claims.notices is "alone" without claims.lost_grace_ns`},
		{"an answer that confirms nothing", `{"lockchaos":1,"claims":{"permits":1,"confirms":["renew","acquire"]}}` +
			"\n", `x.jsonl:1:58: claims.confirms: unknown word "acquire"`},
		{"a grant that was dead for ever", head +
			`{"t":1,"type":"ok","f":"acquire","op":1,"key":"k0","valid_for":-9223372036854775808}` + "\n",
			"x.jsonl:2: valid_for is -9223372036854775808 ns"},
		{"a grant for ever", head + `{"t":1,"type":"ok","f":"acquire","op":1,"key":"k0","valid_for":9223372036854775807}` + "\n", "x.jsonl:2: valid_for is"},
		{"a mode of no lock", readers + `{"t":1,"type":"invoke","f":"acquire","op":1,"key":"k0","mode":"shared"}` +
			"\n", `x.jsonl:2: unknown mode "shared"`},
		{"an acquire without its mode", readers + `{"t":1,"type":"invoke","f":"acquire","op":1,"key":"k0"}` + "\n",
			"x.jsonl:2: an acquire of a reader-writer lock needs its mode"},
		{"a release with a mode", readers + `{"t":1,"type":"invoke","f":"release","op":1,"key":"k0","mode":"read"}` +
			"\n", "x.jsonl:2: mode \"read\": only the invocation"},
		{"an answer with a mode", readers + `{"t":1,"type":"ok","f":"acquire","op":1,"key":"k0","mode":"read"}` + "\n",
			"x.jsonl:2: mode \"read\": only the invocation"},
		{"permits that nobody claimed", head + `{"t":1,"type":"invoke","f":"acquire","op":1,"key":"k0","permits":2}` +
			"\n", "x.jsonl:2: permits 2, but by the header an acquire asks for 1 at most"},
		{"a release with permits", head + `{"t":1,"type":"invoke","f":"release","op":1,"key":"k0","permits":1}` + "\n",
			"x.jsonl:2: permits 1: only the invocation"},
		{"more permits than there are", strings.Replace(head, `"permits":1`, `"permits":2,"permits_per_acquire":3`, 1),
			"x.jsonl:1: claims.permits_per_acquire is 3; it lies between 1 and claims.permits (2)"},
		{"a set that nobody claimed", head + `{"t":1,"type":"invoke","f":"acquire","op":2,"key":"k0","set":1}` + "\n",
			"x.jsonl:2: set 1 of op 2: ops of a set are numbered from it on, and by the header it has 1 at most"},
		{"a set that begins later", head + `{"t":1,"type":"invoke","f":"acquire","op":2,"key":"k0","set":3}` + "\n",
			"x.jsonl:2: set 3 of op 2"},
		{"an answer of a set", head + `{"t":1,"type":"ok","f":"acquire","op":1,"key":"k0","set":1}` + "\n",
			"x.jsonl:2: set 1: only the invocation"},
		{"a write of a set", head + `{"t":1,"type":"invoke","f":"write","op":1,"key":"k0","set":1}` + "\n",
			"x.jsonl:2: set 1: only the invocation"},
		{"several keys of a semaphore", strings.Replace(head, `"permits":1`, `"permits":2,"multi_key":3`, 1),
			"x.jsonl:1: claims.multi_key is 3; it lies between 1 and 64, and only an exclusive lock has it"},
		{"a mode that nobody claimed", head + `{"t":1,"type":"invoke","f":"acquire","op":1,"key":"k0","mode":"write"}` +
			"\n", `x.jsonl:2: mode "write", but the header does not`},
		{"not JSON", head + `{"t":1,"type":"mark"]` + "\n", "x.jsonl:2:21: invalid character ']'"},
		{"unknown field", head + `{"t":1,"type":"mark","colour":3}` + "\n", `x.jsonl:2: json: unknown field "colour"`},
		{"unknown type", head + `{"t":1,"type":"marc"}` + "\n", `x.jsonl:2: unknown type "marc"`},
		{"wrong type", head + `{"t":"now","type":"mark"}` + "\n", "x.jsonl:2:10: json: cannot unmarshal string"},
		{"unknown key", head + `{"t":1,"type":"invoke","f":"read","op":1,"key":"k9"}` + "\n", `x.jsonl:2: key "k9" is not among the keys`},
		{"no key", head + `{"t":1,"type":"invoke","f":"read","op":1}` + "\n", "x.jsonl:2: \"invoke\" needs a key"},
		{"no op", head + `{"t":1,"type":"invoke","f":"read","key":"k0"}` + "\n", "x.jsonl:2: \"invoke\" needs the number of its op"},
		{"a count of nothing", head + `{"t":1,"type":"count","value":3}` + "\n", "x.jsonl:2: a count event needs the name"},
		{"a conflict of a read", head + `{"t":1,"type":"fail","f":"read","op":1,"key":"k0","conflict":true}` + "\n",
			"x.jsonl:2: only a failed write"},
		{"a conflict that went well", head + `{"t":1,"type":"ok","f":"write","op":1,"key":"k0","conflict":true}` + "\n",
			"x.jsonl:2: only a failed write"},
		{"refused and a conflict", head +
			`{"t":1,"type":"fail","f":"write","op":1,"key":"k0","conflict":true,"refused":true}` + "\n",
			"x.jsonl:2: a write was refused or"},
		{"an atomic read", head + `{"t":1,"type":"ok","f":"read","op":1,"key":"k0","atomic":true}` + "\n",
			"x.jsonl:2: only a write is atomic"},
		{"an empty line", head + "\n" + `{"t":1,"type":"end"}` + "\n", "x.jsonl:2: an empty line"},
		{"after the end", head + `{"t":1,"type":"end"}` + "\n" + `{"t":2,"type":"mark"}` + "\n", "x.jsonl:3: a line after the end event"},
		{"lines missing", head + `{"t":1,"type":"end","seq":4}` + "\n", "x.jsonl:2: the end event counts 4 events, the file has 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadAll(strings.NewReader(c.in), "x.jsonl")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant %s…", err, c.want)
			}
		})
	}
}

// Wherever a file is cut, what is whole can be read and the cut is noticed, except at the very end.
func TestCutAnywhere(t *testing.T) {
	whole := []byte(head)
	for i := range 5 {
		e := Event{Time: int64(i + 1), Type: Invoke, Kind: Read, Op: int64(i + 1), Client: 1}
		whole, _ = AppendEvent(whole, []string{"k0"}, &e)
	}
	whole, _ = AppendEvent(whole, []string{"k0"}, &Event{Time: 9, Type: End, Seq: 5})
	for n := len(head); n < len(whole); n++ {
		h, err := ReadAll(bytes.NewReader(whole[:n]), "cut.jsonl")
		if err != nil {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
		lines := bytes.Count(whole[:n], []byte("\n")) - 1
		if onlyNewlineMissing := n == len(whole)-1; h.Truncated == onlyNewlineMissing || len(h.Events) < lines {
			t.Fatalf("cut at %d of %d: truncated %v, %d events, %d whole lines", n, len(whole), h.Truncated, len(h.Events), lines)
		}
	}
}

// Many drivers record at once: the order of lines is the order of stamps, and no line is lost.
func TestRecorderOrdersByStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var now atomic.Int64
	now.Store(1000)
	r, err := NewRecorder(f, testHeader(), testKeys, func() int64 { return now.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	const drivers, each = 8, 500
	var wg sync.WaitGroup
	for d := range drivers {
		wg.Go(func() {
			for i := range each {
				r.Record(Event{Type: Invoke, Kind: Read, Op: int64(d*each + i + 1), Client: int32(d + 1)})
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err == nil {
		t.Fatal("the second Close must fail")
	}
	r.Record(Event{Type: Mark, Text: "late"}) // must neither block nor panic
	h, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Events) != drivers*each+1 || h.Truncated {
		t.Fatalf("%d events, truncated %v", len(h.Events), h.Truncated)
	}
	for i := 1; i < len(h.Events); i++ {
		if h.Events[i].Time <= h.Events[i-1].Time {
			t.Fatalf("line %d has stamp %d after %d", i+2, h.Events[i].Time, h.Events[i-1].Time)
		}
	}
}

// What is recorded while the recorder is being closed comes before its End event, or not at all.
func TestCloseBesideRecord(t *testing.T) {
	for range 200 {
		var out bytes.Buffer
		r, err := NewRecorder(&out, testHeader(), testKeys, func() int64 { return 5000 })
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				<-start
				for range 20 {
					r.Record(Event{Type: Invoke, Kind: Read, Op: 1, Client: 1})
				}
			})
		}
		close(start)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if h, err := ReadAll(&out, "beside"); err != nil || h.Truncated {
			t.Fatalf("truncated or broken: %v", err)
		}
	}
}

type brokenDisk struct{ left int }

func (b *brokenDisk) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

func TestRecorderReportsABrokenDisk(t *testing.T) {
	r, err := NewRecorder(&brokenDisk{left: 2000}, testHeader(), testKeys, func() int64 { return 2000 })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		r.Record(Event{Type: Invoke, Kind: Read, Op: int64(i + 1)})
	}
	<-r.Failed() // known before the end
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("Close: %v", err)
	}
}

func FuzzReadAll(f *testing.F) {
	f.Add([]byte(head + `{"t":1,"type":"end"}` + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := ReadAll(bytes.NewReader(in), "fuzz")
		if err != nil {
			return
		}
		// What was read can be written, and reads the same.
		var out bytes.Buffer
		if err := h.Encode(&out); err != nil {
			t.Fatal(err)
		}
		again, err := ReadAll(&out, "again")
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(again.Events) != fmt.Sprint(h.Events) && !hasFault(h) {
			t.Fatalf("got %+v\nwant %+v", again.Events, h.Events)
		}
	})
}

func hasFault(h *History) bool {
	for i := range h.Events {
		if h.Events[i].Fault != nil {
			return true // printed as a pointer
		}
	}
	return false
}

func BenchmarkRecord(b *testing.B) {
	r, err := NewRecorder(io.Discard, testHeader(), testKeys, func() int64 { return 5000 })
	if err != nil {
		b.Fatal(err)
	}
	e := Event{Type: OK, Kind: Write, Op: 12345, Grant: 12340, Client: 3, Process: 3, Start: 123456789, End: 123459999,
		Token: TokenOf(33), Version: 99, Replaced: 98, Seq: 120}
	b.ReportAllocs()
	for b.Loop() {
		r.Record(e)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
