package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func compressed(t *testing.T, in []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, "x.jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(in); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A compressed history reads like the one that it holds, event by event and in
// blocks, and is much smaller.
func TestCompressed(t *testing.T) {
	plain := append(sampleLines(t, 5000), `{"t":99999999,"type":"end","seq":5000}`+"\n"...)
	small := compressed(t, plain)
	if len(small) > len(plain)/8 {
		t.Errorf("%d bytes became %d", len(plain), len(small))
	}
	want, err := ReadAll(bytes.NewReader(plain), "plain")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadAll(bytes.NewReader(small), "small")
	if err != nil || got.Truncated || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d of %d events, truncated %v, %v", len(got.Events), len(want.Events), got.Truncated, err)
	}
	sameReading(t, small, 1000)
}

// What a report carries is in gzip: it reads like the history that it holds,
// and what was cut of it is noticed.
func TestGzipped(t *testing.T) {
	plain := append(sampleLines(t, 500), `{"t":99999999,"type":"end","seq":500}`+"\n"...)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := ReadAll(bytes.NewReader(plain), "plain")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadAll(bytes.NewReader(b.Bytes()), "history.jsonl.gz")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d of %d events, %v", len(got.Events), len(want.Events), err)
	}
	sameReading(t, b.Bytes(), 1000)
	for _, n := range []int{3, 9, b.Len() / 2, b.Len() - 9} {
		if h, err := ReadAll(bytes.NewReader(b.Bytes()[:n]), "cut"); err == nil && !h.Truncated && len(h.Events) != len(want.Events) {
			t.Errorf("cut at %d of %d: %d events of %d, and not noticed", n, b.Len(), len(h.Events), len(want.Events))
		}
	}
}

// A compressed history that was cut is judged for what is whole in it; one that
// was damaged is an error. Neither is ever complete.
func TestCompressedAndBroken(t *testing.T) {
	plain := append(sampleLines(t, 20000), `{"t":99999999,"type":"end","seq":20000}`+"\n"...)
	small := compressed(t, plain)
	most := 0
	for _, n := range []int{5, 100, len(small) / 2, len(small) - 5, len(small) - 1} {
		h, err := ReadAll(bytes.NewReader(small[:n]), "cut.jsonl.zst")
		var syntax *SyntaxError
		switch {
		case err != nil && !errors.As(err, &syntax) && !strings.HasPrefix(err.Error(), "read cut.jsonl.zst: "):
			t.Errorf("cut at %d of %d: %v", n, len(small), err)
		case err == nil && !h.Truncated:
			t.Errorf("cut at %d of %d: not noticed", n, len(small))
		case err == nil:
			most = max(most, len(h.Events))
		}
	}
	if most == 0 {
		t.Error("nothing of a history that was cut could be read")
	}
	damaged := bytes.Clone(small)
	damaged[len(damaged)/2] ^= 0x55
	if h, err := ReadAll(bytes.NewReader(damaged), "damaged"); err == nil && !h.Truncated {
		t.Error("the damage was not noticed")
	}
}

// A user who compresses the history of an old run can still have it read by its name.
func TestReadFileFindsTheCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "history.jsonl: no such file") {
		t.Fatalf("no file: %v", err)
	}
	plain := sampleLines(t, 20)
	if err := os.WriteFile(path+Compressed, compressed(t, plain), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := ReadFile(path)
	if err != nil || len(h.Events) < 20 {
		t.Fatalf("compressed: %v", err)
	}
	if err := os.WriteFile(path, plain[:len(plain)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if both, err := ReadFile(path); err != nil || len(both.Events) >= len(h.Events) {
		t.Fatalf("both: the plain one counts: %v", err)
	}
}
