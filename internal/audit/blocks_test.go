package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// told is all that a log tells when it is read in blocks of a size, or its error.
func told(text []byte, format formats.Format, o Options, size int) string {
	o.block = size
	s, err := Read(bytes.NewReader(text), "log", format, o)
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n%q\n%q\n%q\n", s.Header, s.Keys, s.Assumed, s.Left)
	for {
		var e history.Event
		if err := s.Read(&e); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			return err.Error()
		}
		first, last := s.Lines(e.Op)
		fmt.Fprintf(&b, "%+v %d %d %q\n", e, first, last, s.Client(s.Keys[e.Key], e.Client))
	}
}

// logs are the logs of the tests, and such as are taken apart in all ways.
func logs(t testing.TB) map[string]formats.Format {
	all := map[string]formats.Format{
		"ts,pod,action,lock\n1,a,granted,\"k\"\n\n2,b,denied,\"one\ntwo, and \"\"three\"\"\"\r\n3,a,released,k\n":                          formats.CSV,
		"ts,pod,action,lock,note\n1,a,granted,k,\"x \"\"y\"\"\"\n2,a,released,k,\"\"\n3,b,granted,k\n":                                     formats.CSV,
		"ts,pod,action,lock\n1,a,granted,k\n2,a,rel\"eased,k\n3,b,granted,k\n4,\"b\"x,granted,k\n":                                         formats.CSV,
		"ts,pod,action,lock\n1,a,granted,k\n2,a,released,k\n3,\"b,granted,k\n4,b,granted,k\n":                                              formats.CSV,
		"ts,pod,action,lock\n1,a,granted,k\n2,a,\"rel\n3,b,granted,\"k\"\n4,b,released,k\n5,b,\"gr":                                        formats.CSV,
		"ts,pod,action,lock\n1,a,granted,k\n2,a,released\n3,\"b\",granted,\"k\nl\"\n4,b,\"released\n5,b,released,k,k\n6,a,\"granted\",k\n": formats.CSV,
		"ts;pod;action;lock\n1;\xff;granted;k\n":                                                                                           formats.CSV,
		"[{\"ts\":1,\"pod\":\"a\",\"action\":\"granted\"},\n{\"ts\":2,\n\"pod\":\"a\",\"action\":\"released\"}]":                           formats.JSON,
		"[{\"ts\":1,\"pod\":\"a\",\"action\":\"granted\"},\n{\"ts\":2,\"pod\":\"a\",\"action\":\"released\"}\n":                            formats.JSON,
		"{\n \"ts\":1,\n \"pod\":\"a\",\n \"action\":\"granted\", \"more\": [{\n}\n, {}]\n}\n{\"ts\":2,\"pod\":\"a\",\"action\":\"no\"}":   formats.JSON,
		"{\"ts\":1,\"pod\":\"a\",\"action\":\"granted\"}\n{\"ts\":2,\"pod\":{\"a\":{}\n{\"ts\":3}\n{\"ts\":4}\n":                           formats.JSON,
		"{\"ts\":1,\"pod\":\"a\",\"action\":\"granted\"}\n{\"ts\":2,\"pod\":\"a}\n{\"ts\":3}\n{\"ts\":4}\n":                                formats.JSON,
		"{\"ts\":1,\"pod\":\"\\u0061\",\"action\":\"granted\",\"ts\":5} {\"ts\":7,\"pod\":\"a\",\"action\":\"released\"}\n7\n":             formats.JSON,
		"1 a granted\n\n2 a released\n3 a\n4 b granted\n":                                                                                  formats.Text,
		"1 a granted\n2 a released\n4 b sings\n":                                                                                           formats.Text,
	}
	for glob, format := range map[string]formats.Format{"testdata/csv/*.csv": formats.CSV, "../../examples/*.csv": formats.CSV,
		"testdata/json/*.jsonl": formats.JSON, "../../examples/*.jsonl": formats.JSON} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files for %s: %v", glob, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[string(text)] = format
			all[string(text[:2*len(text)/3])] = format
		}
	}
	return all
}

// TestBlocks: a log tells the same, and is wrong in the same place, however it is cut into blocks.
func TestBlocks(t *testing.T) {
	for text, format := range logs(t) {
		for _, o := range []Options{{}, {SkipUnmatched: true, Permits: 2}} {
			if format == formats.Text {
				o.Pattern = `^(?P<time>\S+) (?P<client>\S+) (?P<event>\S+)`
			}
			want := told([]byte(text), format, o, 0)
			for _, size := range []int{1, 7, 40, 333} {
				if got := told([]byte(text), format, o, size); got != want {
					t.Fatalf("%.200q in blocks of %d:\n%s\nin one:\n%s", text, size, got, want)
				}
			}
		}
	}
}

// TestTornBlocks: what is a record, and what is torn, does not depend on
// blocks, whatever quotes there are.
func TestTornBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 39))
	pieces := []string{"1,a,granted,k", "2,a,released,k", `"`, `""`, ",", "\n", "\n", "\r\n", "3,b,", "granted", "x", `,"k"`, "\x00", " "}
	torn := 0
	for range 4000 {
		var log strings.Builder
		log.WriteString("ts,pod,action,lock\n1,a,granted,k\n")
		for range r.IntN(24) {
			log.WriteString(pieces[r.IntN(len(pieces))])
		}
		want := told([]byte(log.String()), formats.CSV, Options{}, 0)
		for _, size := range []int{1, 1 + r.IntN(60)} {
			if got := told([]byte(log.String()), formats.CSV, Options{}, size); got != want {
				t.Fatalf("%q in blocks of %d:\n%s\nin one:\n%s", log.String(), size, got, want)
			}
		}
		if strings.Contains(want, "cut or torn") {
			torn++
		}
	}
	if torn < 1000 {
		t.Errorf("only %d logs are torn", torn)
	}
}

// TestOpenQuote: a quote that is not closed takes its own line along, also
// where the rest of the log is longer than a record may be.
func TestOpenQuote(t *testing.T) {
	log := "ts,pod,action,lock,note\n1,a,granted,k,\n2,a,\"rel\n" + strings.Repeat("3,b,busy,k,"+strings.Repeat("x", 1<<10)+"\n", 2<<10)
	want := told([]byte(log), formats.CSV, Options{}, 1<<22)
	if !strings.Contains(want, "cut or torn: 1, the first is line 3 (a quote that is not closed)") {
		t.Fatalf("%.2000s", want)
	}
	if got := told([]byte(log), formats.CSV, Options{}, 0); got != want {
		t.Errorf("in blocks: %.2000s", got)
	}
}

// TestManyBlocks: names are numbered, and the first error is told, as they come
// in the log, with many blocks under way.
func TestManyBlocks(t *testing.T) {
	var log strings.Builder
	log.WriteString("ts,pod,action,lock,fence\n")
	for i := range 3000 {
		fmt.Fprintf(&log, "%d,w%d,granted,k%d,%d\n%d,w%d,released,k%d,%d\n", 2*i, i, i%700, i, 2*i+1, i, i%700, i)
	}
	good := log.String()
	bad := good + "5,w,granted,k,x\n" + strings.Repeat("9,w,sings,k,1\n", 500)
	for _, text := range []string{good, bad} {
		want := told([]byte(text), formats.CSV, Options{}, 1<<22)
		if got := told([]byte(text), formats.CSV, Options{}, 200); got != want {
			t.Errorf("%.300s\nin one block:\n%.300s", got, want)
		}
	}
	if got := told([]byte(bad), formats.CSV, Options{}, 200); !strings.HasPrefix(got, "log:6002:15: a fencing token") {
		t.Error(got)
	}
}

// unending is a beginning, and then the same byte for ever; it counts what was taken.
type unending struct {
	text string
	fill byte
	read int
}

func (e *unending) Read(p []byte) (int, error) {
	n := copy(p, e.text)
	e.text = e.text[n:]
	for i := n; i < len(p); i++ {
		p[i] = e.fill
	}
	e.read += len(p)
	return len(p), nil
}

// TestEndlessFields: what has no end is refused where it is too long, with its place.
func TestEndlessFields(t *testing.T) {
	needed.WithoutRace(t) // shorter fields are read in other tests
	csvLines := "ts,pod,action,lock\n" + strings.Repeat("1,a,granted,k\n", 50_000)
	jsonLines := strings.Repeat("{\"ts\":1,\"pod\":\"a\",\"action\":\"granted\"}\n", 50_000)
	text := Options{Pattern: `^(?P<time>\S+) (?P<client>\S+) (?P<event>\S+)`}
	for name, c := range map[string]struct {
		log    string
		fill   byte
		format formats.Format
		o      Options
		want   string
	}{
		"a field": {csvLines + "1,a,gr", 'x', formats.CSV, Options{},
			`log:50002:5: a record of more than 1048576 bytes, near "grxxx`},
		"a field in quotes": {csvLines + "1,\"a\",\"gr,\n", 'x', formats.CSV, Options{},
			`log:50003:1: a record of more than 1048576 bytes, near "xxxx`},
		"fields":             {csvLines + "1,a", ',', formats.CSV, Options{}, `log:50002:`},
		"a bare quote":       {csvLines + "1,a,g\"r", 'x', formats.CSV, Options{}, `log:50002:6: bare "`},
		"a heading":          {"ts,pod,act", 'x', formats.CSV, Options{}, `log:1:8: a record of more than 1048576 bytes`},
		"quotes without end": {"ts,pod,action\n1,a,", '"', formats.CSV, Options{}, `log:2:`},
		"a string": {jsonLines + `{"ts":1,"pod":"a`, 'x', formats.JSON, Options{},
			`log:50001:1048577: one op of more than 1048576 bytes, near "{\"ts\":1`},
		"an object": {jsonLines + `{"ts":1,"pod":[1`, ' ', formats.JSON, Options{},
			`log:50001:1048577: one op of more than 1048576 bytes, near "{\"ts\":1`},
		"a line": {strings.Repeat("1 a granted\n", 50_000) + "1 a gr", 'x', formats.Text, text,
			`log:50001:1: a line of more than 1048576 bytes, near "1 a grxxx`},
	} {
		in := &unending{text: c.log, fill: c.fill}
		_, err := Read(in, "log", c.format, c.o)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s…", name, err, c.want)
		}
		if most := len(c.log) + 3<<20; in.read > most {
			t.Errorf("%s: %d bytes were read, want at most %d", name, in.read, most)
		}
	}
}

// TestLongFields: a long record that ends in time is read.
func TestLongFields(t *testing.T) {
	needed.WithoutRace(t) // shorter fields are read in other tests
	long := strings.Repeat("x", 1<<20-100)
	for format, text := range map[formats.Format]string{
		formats.CSV:  "ts,pod,action,lock,note\n1,a,granted,k,\"" + long + "\"\n2,a,released,k," + long + "\n",
		formats.JSON: `{"ts":1,"pod":"a","action":"granted","note":"` + long + "\"}\n",
		formats.Text: "1 a granted " + long + "\n",
	} {
		o := Options{}
		if format == formats.Text {
			o.Pattern = `^(?P<time>\S+) (?P<client>\S+) (?P<event>\S+)`
		}
		for _, size := range []int{1000, 1 << 18, 1 << 22} {
			o.block = size
			if _, err := Read(strings.NewReader(text), "log", format, o); err != nil {
				t.Errorf("%s in blocks of %d: %v", format, size, err)
			}
		}
	}
}

// failing fails when its text ends.
type failing struct{ io.Reader }

func (f failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = errors.New("the disk is gone")
	}
	return n, err
}

// TestReadErrors: a log that can't be read to its end is not judged by what was read.
func TestReadErrors(t *testing.T) {
	for format, text := range map[formats.Format]string{
		formats.CSV:  "ts,pod,action,lock\n1,a,granted,k\n2,a,released,k\n",
		formats.JSON: "{\"ts\":1,\"pod\":\"a\",\"action\":\"granted\"}\n",
		formats.Text: "1 a granted\n",
	} {
		o := Options{Pattern: `^(?P<time>\S+) (?P<client>\S+) (?P<event>\S+)`}
		_, err := Read(failing{strings.NewReader(text)}, "log", format, o)
		if err == nil || err.Error() != "read log: the disk is gone" {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// FuzzBlocks: whatever a log is, it tells the same in one block and in many.
func FuzzBlocks(f *testing.F) {
	for text := range logs(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []formats.Format{formats.CSV, formats.JSON} {
			want := told(data, format, Options{}, 0)
			if got := told(data, format, Options{}, 9); got != want {
				t.Fatalf("%s in blocks:\n%s\nin one:\n%s", format, got, want)
			}
		}
	})
}
