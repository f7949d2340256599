package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// readBoth reads a history event by event and in blocks of the given size.
func readBoth(in []byte, size int) (single, blocks *History, singleErr, blocksErr error) {
	single, blocks = &History{}, &History{}
	r, err := NewReader(bytes.NewReader(in), "x")
	if err != nil {
		return single, blocks, err, err
	}
	for {
		var e Event
		if singleErr = r.Read(&e); singleErr != nil {
			break
		}
		single.Events = append(single.Events, e)
	}
	if errors.Is(singleErr, io.EOF) {
		singleErr, single.Truncated, single.Line = nil, r.Truncated(), r.Line()
	}
	r, _ = NewReader(iotest.HalfReader(bytes.NewReader(in)), "x")
	r.blockSize = size
	blocksErr = r.Each(func(events []Event) error {
		blocks.Events = append(blocks.Events, events...)
		return nil
	})
	if blocksErr == nil {
		blocks.Truncated, blocks.Line = r.Truncated(), r.Line()
	}
	return single, blocks, singleErr, blocksErr
}

func sameReading(t *testing.T, in []byte, size int) {
	t.Helper()
	single, blocks, err1, err2 := readBoth(in, size)
	if fmt.Sprint(err1) != fmt.Sprint(err2) {
		t.Fatalf("blocks of %d: Read %v\nEach %v\n%s", size, err1, err2, in)
	}
	if err1 == nil && !reflect.DeepEqual(single, blocks) {
		t.Fatalf("blocks of %d: Read %+v\nEach %+v", size, single, blocks)
	}
}

// Wherever the blocks are cut, Each tells what Read tells: the same events, or
// the same error at the same line.
func TestEachReadsWhatReadReads(t *testing.T) {
	whole := sampleLines(t, 40)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	header, body := lines[0], lines[1:]
	count := len(body) - 1 // behind the last newline there is nothing
	join := func(parts ...[]byte) []byte { return bytes.Join(append([][]byte{header}, parts...), nil) }
	events := bytes.Join(body, nil)
	end := []byte(fmt.Sprintf(`{"t":99,"type":"end","seq":%d}`+"\n", count))
	for _, in := range [][]byte{
		join(events, end), join(events), join(events[:len(events)-7]), join(events, end[:9]), join(events, end[:len(end)-1]),
		join(events, []byte(`{"t":99,"type":"end","seq":4}`+"\n")), join(events, end, body[3]),
		join(events, end, []byte("x\n")), join(events, end, []byte("x")),
		join(events, []byte(`{"t":1,"type":"dance"}`+"\n"), events),
		join(events, []byte(`{ "t":1,"type":"mark","text":"a\nb" }`+"\n"), end),
		join(events, []byte("\n"), events), join(), join(end),
		join([]byte(`{"t":1,"type":"mark","text":"`+strings.Repeat("x", maxLine)+`"}`+"\n"), events),
	} {
		for _, size := range []int{1, 50, 137, 1000, 1 << 20} {
			if len(in) < maxLine || size > 100 {
				sameReading(t, in, size)
			}
		}
	}
}

// What is wrong with the disk or with the judge ends Each, and is told.
func TestEachEndsEarly(t *testing.T) {
	in := sampleLines(t, 5000)
	broken := errors.New("I/O error")
	r, err := NewReader(io.MultiReader(bytes.NewReader(in), iotest.ErrReader(broken)), "x")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := r.Each(func(events []Event) error { n += len(events); return nil }); !errors.Is(err, broken) || n < 5000 {
		t.Fatalf("%d events, %v", n, err)
	}
	r, _ = NewReader(bytes.NewReader(in), "x")
	if err := r.Each(func([]Event) error { return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
}

// The events that the harness writes are read by hand: all of them but faults,
// and texts with escapes.
func TestParseLineReadsWhatIsWritten(t *testing.T) {
	keys := newKeyNames(testKeys)
	for kind := range kindNames {
		for typ := range typeNames {
			for key := range 2 { // the key's number is the token, too: 0 is one
				e := Event{Time: 12345678, Op: 7, Grant: 5, Client: 3, Process: 4, Start: 2, End: 123456789012345,
					Token: TokenOf(int64(key)), Attempt: 5, First: 6, Enqueued: 7, Ended: 4, Sent: 13, Came: 14,
					ValidFor: -8, HasValidFor: true, Version: 9, Replaced: 10, Value: 11, Seq: 12, Declined: true,
					Refused: true, NotHeld: true, Busy: true,
					Text: "no", Type: Type(typ), Kind: Kind(kind), Key: KeyID(key), Mode: Mode(typ % 3)}
				if !keyed(&e) {
					e.Key = 0
				}
				line, err := AppendEvent(nil, testKeys, &e)
				if err != nil {
					t.Fatal(err)
				}
				var slow, got Event
				slow, err = parseEvent(line, keys.ids)
				switch end := parseLine(line, 0, &keys, &got); {
				case err != nil || e.Type == Fault:
					if end >= 0 {
						t.Fatalf("%s is read, though %v", line, err)
					}
				case end != len(line)-1 || got != slow || got != e:
					t.Fatalf("%s ends at %d: %+v", line, end, got)
				}
			}
		}
	}
}

// FuzzParseLine holds parseLine to encoding/json: what it reads, parseEvent
// reads too, and the same.
func FuzzParseLine(f *testing.F) {
	for _, line := range bytes.Split(sampleLines(f, 10), []byte("\n"))[1:] {
		f.Add(line)
	}
	for _, line := range []string{
		`{"t":01,"type":"mark","text":"run"}`, `{"t":1,"type":"mark","text":"a\"b"}`, `{"t":1,"type":"watermark","start":5,"busy":false}`,
		`{"t":9999999999999999999,"type":"end"}`, `{"t":1,"type":"exit","client":2147483648}`, `{"t":1.5,"type":"end","seq":1e3}`,
		`{"t":1,"type":"info","f":"acquire","op":3,"key":"a \"key\" <b>","first":7,"text":"timeout"}`, `{"type":"end","t":1}`,
		`{"t":1,"type":"invoke","f":"acquire","op":3,"key":"k0","mode":"read"}`,
		`{"t":1,"type":"invoke","f":"acquire","op":3,"key":"k0","mode":""}`,
		`{"t":1,"type":"ok","f":"renew","op":3,"grant":2,"key":"k1","valid_for":-12}`, `{"t":1,"type":"fault","fault":{"id":1}}`,
	} {
		f.Add([]byte(line))
	}
	keys := newKeyNames(append(testKeys, "a long name of a key", "k0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var got Event
		end := parseLine(line, 0, &keys, &got)
		if end < 0 {
			return
		}
		want, err := parseEvent(line[:end], keys.ids)
		if err != nil || got != want || end < len(line) && line[end] != '\n' {
			t.Fatalf("by hand %+v\nby encoding/json %+v, %v", got, want, err)
		}
	})
}

// FuzzEach holds the reading in blocks to the reading event by event.
func FuzzEach(f *testing.F) {
	f.Add([]byte(`{"t":1,"type":"mark","text":"run"}`+"\n"+`{"t":2,"type":"end","seq":1}`+"\n"), uint16(9))
	f.Add([]byte(`{"t":1,"type":"invoke","f":"acquire","op":1,"key":"k0","mode":"write"}`+"\n"+
		`{"t":2,"type":"invoke","f":"acquire","op":2,"key":"k0"}`), uint16(9))
	f.Fuzz(func(t *testing.T, in []byte, size uint16) {
		sameReading(t, append([]byte(head), in...), int(size)+1)
		sameReading(t, append([]byte(readers), in...), int(size)+1)
	})
}
