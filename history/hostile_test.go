package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// hostileHeader is a header with one field more.
func hostileHeader(field string) string {
	return fmt.Sprintf(`{"lockchaos":2,"scenario":"x","clients":2,"ttl_ns":500000000,"claims":{"permits":1},"keys":["k"],%s}`+"\n", field)
}

// TestHostileNumbers: numbers that would overflow when they are added or
// counted up to are refused, with the line where they stand.
func TestHostileNumbers(t *testing.T) {
	const huge = "4611686018427387904"
	for _, field := range []string{`"nodes":` + huge, `"nodes":-1`, `"slack_ns":` + huge, `"bound_ns":` + huge, `"bound_ns":-1`,
		`"stall_ns":` + huge, `"ready_ns":` + huge, `"duration_ns":` + huge} {
		_, err := ReadAll(strings.NewReader(hostileHeader(field)), "x.jsonl")
		name, _, _ := strings.Cut(field, ":")
		if err == nil || !strings.HasPrefix(err.Error(), "x.jsonl:1") || !strings.Contains(err.Error(), strings.Trim(name, `"`)) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, change := range [][2]string{{`"clients":2`, `"clients":` + huge}, {`"clients":2`, `"clients":-2`},
		{"500000000", huge}, {"500000000", "-1"}, {`"permits":1`, `"permits":` + huge},
		{`"permits":1`, `"permits":1,"lost_grace_ns":` + huge}} {
		text := strings.Replace(hostileHeader(`"seed":1`), change[0], change[1], 1)
		if _, err := ReadAll(strings.NewReader(text), "x.jsonl"); err == nil || !strings.HasPrefix(err.Error(), "x.jsonl:1") {
			t.Errorf("%s: %v", change[1], err)
		}
	}
	if _, err := ReadAll(strings.NewReader(hostileHeader(`"seed":1`)), "x.jsonl"); err != nil {
		t.Errorf("a header like any other: %v", err)
	}
}

// TestHostileStamps: so are stamps a hundred years away, of events and of what faults say.
func TestHostileStamps(t *testing.T) {
	const huge = "9223372036854775000"
	header := hostileHeader(`"seed":1`)
	acquire := `{"t":10,"type":"invoke","f":"acquire","op":1,"grant":1,"client":1,"process":1,"key":"k"}` + "\n"
	ok := `{"t":20,"type":"ok","f":"acquire","op":1,"grant":1,"client":1,"process":1,"key":"k","start":11,"end":12}` + "\n"
	if _, err := ReadAll(strings.NewReader(header+acquire+ok), "x.jsonl"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{strings.Replace(ok, `"t":20`, `"t":`+huge, 1),
		strings.Replace(ok, `:12`, `:`+huge, 1), strings.Replace(ok, `:11`, `:-`+huge, 1),
		strings.Replace(ok, `"end":12`, `"end":12,"attempt":`+huge, 1),
		`{"t":20,"type":"fault","fault":{"id":1,"kind":"pause","phase":"end","injected":true,"bit":true,"from":1,"to":` + huge + `}}` + "\n",
		`{"t":20,"type":"fault","fault":{"id":1,"kind":"skew","phase":"end","injected":true,"bit":true,"clocks":[{"at":1,"host":"a","pid":1,"wall_ns":` + huge + `,"mono_ns":0}]}}` + "\n"} {
		_, err := ReadAll(strings.NewReader(header+acquire+line), "x.jsonl")
		if err == nil || !strings.HasPrefix(err.Error(), "x.jsonl:3") || !strings.Contains(err.Error(), "hundred years") {
			t.Errorf("%s%v", line, err)
		}
	}
}

// TestHostileCompression: a small file that becomes a long one is refused while it is read.
func TestHostileCompression(t *testing.T) {
	var zst, gz bytes.Buffer
	z, err := NewWriter(&zst, "x.zst")
	if err != nil {
		t.Fatal(err)
	}
	g, _ := gzip.NewWriterLevel(&gz, gzip.BestSpeed)
	lines := bytes.Repeat([]byte("\n"), 1<<20)
	for range anyTimes/len(lines) + 2 {
		_, err1 := z.Write(lines)
		_, err2 := g.Write(lines)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), g.Close()); err != nil {
		t.Fatal(err)
	}
	for name, small := range map[string]*bytes.Buffer{"x.zst": &zst, "x.gz": &gz} {
		in, err := Decompressed(bufio.NewReader(small), name)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, in)
		if err == nil || !strings.Contains(err.Error(), name) || n > anyTimes+1<<20 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}
