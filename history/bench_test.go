package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"syscall"
	"testing"
	"time"
)

// sampleLines is a history such as the harness writes: a contended lock, its
// reads and writes, and the ledger.
func sampleLines(tb testing.TB, events int) []byte {
	out, err := MarshalHeader(testHeader(), testKeys[:2])
	if err != nil {
		tb.Fatal(err)
	}
	now, op, n := int64(5_000_000), int64(0), 0
	line := func(e Event) {
		now += 3_517
		if e.Time = now; e.Type == OK {
			e.Start, e.End = now-2_900, now-300
		}
		e.Process = e.Client
		if out, err = AppendEvent(out, testKeys[:2], &e); err != nil {
			tb.Fatal(err)
		}
		n++
	}
	for turn := int64(1); n < events; turn++ {
		grant, client, key := op+1, int32(turn%50+1), KeyID(turn%2)
		for i, kind := range [...]Kind{Acquire, Read, Write, Release} {
			op++
			e := Event{Type: Invoke, Kind: kind, Op: op, Grant: grant, Client: client, Key: key}
			line(e)
			e.Type = OK
			switch kind {
			case Acquire:
				e.Token, e.Attempt, e.First = TokenOf(turn), now-2_000, now-2_000
			case Read:
				e.Version, e.Value, e.Seq = turn, turn, 2*turn
			case Write:
				e.Token, e.Version, e.Replaced, e.Value, e.Seq = TokenOf(turn), turn+1, turn, turn+1, 2*turn+1
			}
			line(e)
			if i == 1 || i == 2 {
				e.Type = Ledger
				line(e)
			}
		}
	}
	return out
}

// BenchmarkRead reads a history event by event, in blocks on all processors,
// and event by event by encoding/json.
func BenchmarkRead(b *testing.B) {
	const events = 50_000
	in := sampleLines(b, events)
	run := func(name string, read func() int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			n, begin := 0, usedCPU(b)
			for b.Loop() {
				n += read()
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(n)/(usedCPU(b)-begin).Seconds(), "events/cpu-s")
			if n < events {
				b.Fatalf("%d events", n)
			}
		})
	}
	run("reader", func() (n int) {
		r, err := NewReader(bytes.NewReader(in), "bench")
		if err != nil {
			b.Fatal(err)
		}
		for {
			var e Event
			if err := r.Read(&e); errors.Is(err, io.EOF) {
				return n
			} else if err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
	run("each", func() (n int) {
		r, err := NewReader(bytes.NewReader(in), "bench")
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Each(func(events []Event) error { n += len(events); return nil }); err != nil {
			b.Fatal(err)
		}
		return n
	})
	run("encoding/json", func() (n int) {
		d := json.NewDecoder(bytes.NewReader(in[bytes.IndexByte(in, '\n'):]))
		for {
			var w wireEvent
			if err := d.Decode(&w); errors.Is(err, io.EOF) {
				return n
			} else if err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
}

// usedCPU is the processor time that this process has used. Unlike the time on
// the wall it says the same on a busy machine.
func usedCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEncode writes the lines of a history by hand, and by encoding/json.
func BenchmarkEncode(b *testing.B) {
	h, err := ReadAll(bytes.NewReader(sampleLines(b, 5_000)), "bench")
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, line func(buf []byte, e *Event) ([]byte, error)) {
		b.Run(name, func(b *testing.B) {
			var buf []byte
			n, begin := 0, usedCPU(b)
			for b.Loop() {
				buf = buf[:0]
				for i := range h.Events {
					if buf, err = line(buf, &h.Events[i]); err != nil {
						b.Fatal(err)
					}
				}
				n += len(h.Events)
			}
			b.SetBytes(int64(len(buf)))
			b.ReportMetric(float64(n)/(usedCPU(b)-begin).Seconds(), "events/cpu-s")
		})
	}
	run("AppendEvent", func(buf []byte, e *Event) ([]byte, error) { return AppendEvent(buf, h.Keys, e) })
	run("encoding/json", func(buf []byte, e *Event) ([]byte, error) {
		var token *int64
		if e.Token.Given() {
			number := e.Token.Number()
			token = &number
		}
		line, err := json.Marshal(wireEvent{Time: e.Time, Type: e.Type.String(), Kind: e.Kind.String(), Op: e.Op,
			Grant: e.Grant, Client: e.Client, Process: e.Process,
			Key: &h.Keys[e.Key], Start: e.Start, End: e.End, Token: token, Attempt: e.Attempt, First: e.First,
			Version: e.Version, Replaced: e.Replaced,
			Value: e.Value, Seq: e.Seq})
		return append(append(buf, line...), '\n'), err
	})
}
