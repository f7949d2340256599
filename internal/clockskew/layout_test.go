//go:build linux

package clockskew

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCodeIsWhatTheSourceSays assembles what is embedded again.
func TestCodeIsWhatTheSourceSays(t *testing.T) {
	needs(t, "as")
	needs(t, "objcopy")
	dir := t.TempDir()
	if out, err := exec.Command("asm/build.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, have := range map[string][]byte{"skew_amd64.bin": code, "probe_amd64.bin": probeProgram} {
		built, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if len(have) == 0 || !bytes.Equal(built, have) {
			t.Errorf("asm/%s is not what its source says: run asm/build.sh", name)
		}
	}
}

func TestOffsetsInTheCode(t *testing.T) {
	if string(code[:len(magic)]) != magic {
		t.Errorf("magic %q", code[:len(magic)])
	}
	if at := entryAt(entryCond + 1); at != offTramp {
		t.Errorf("the trampoline is at %#x", at)
	}
	if offBank+2*bankSize != offCode {
		t.Errorf("the banks end at %#x", offBank+2*bankSize)
	}
	last := uint64(offCode)
	for i := range entryCond + 1 {
		if at := entryAt(i); at < last || at >= uint64(len(code)) {
			t.Errorf("entry %d is at %#x", i, at)
		} else {
			last = at
		}
	}
}

// own is this machine's vDSO.
func own(t testing.TB) ([]byte, layout) {
	t.Helper()
	p, err := pristine()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(p.image), p.layout
}

func TestLayoutOfTheOwnVDSO(t *testing.T) {
	img, l := own(t)
	if room := img[l.room : l.room+uint64(len(code))]; len(bytes.TrimRight(room, "\x00")) != 0 &&
		l.room < uint64(len(bytes.TrimRight(img, "\x00"))) {
		t.Log("our code takes the place of the section table")
	}
	f, err := elf.NewFile(bytes.NewReader(img))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if l.room < p.Off+p.Filesz {
			t.Errorf("our code at %#x lies in a segment that ends at %#x", l.room, p.Off+p.Filesz)
		}
	}
}

func TestLayoutRefuses(t *testing.T) {
	img, _ := own(t)
	damage := func(change func(b []byte) []byte) []byte { return change(bytes.Clone(img)) }
	for name, bad := range map[string][]byte{
		"nothing":         {},
		"no ELF":          damage(func(b []byte) []byte { b[0] = 0; return b }),
		"another machine": damage(func(b []byte) []byte { b[18] = byte(elf.EM_AARCH64); return b }),
		"no symbols":      bytes.ReplaceAll(img, []byte("__vdso_clock_gettime"), []byte("__vdso_clock_gottime")),
	} {
		if _, err := layoutOf(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRoomIsTheTailOrTheSectionTable(t *testing.T) {
	img := make([]byte, 4096)
	for i := range 2000 {
		img[i] = 1 // loaded up to 1500, then the section table
	}
	for size, want := range map[int]uint64{4096: 2048, 3043: 2048, 3042: 1536, 2531: 1536} {
		if got, err := roomIn(img[:size], 1500); err != nil || got != want {
			t.Errorf("image of %d bytes: room at %d, %v; want %d", size, got, err, want)
		}
	}
	if at, err := roomIn(img[:2530], 1500); !errors.Is(err, ErrUnsupported) {
		t.Errorf("no room: %d, %v", at, err)
	}
}

func TestInspectKnowsItsOwnWork(t *testing.T) {
	img, l := own(t)
	written := bytes.Clone(img)
	b, fast := body(img, l, 0, l.room)
	copy(written[l.room:], b)
	installed := bytes.Clone(written)
	for i, e := range l.entry {
		if e != 0 {
			copy(installed[e:], jump(e, l.room+entryAt(i)))
		}
	}
	for name, c := range map[string]struct {
		img  []byte
		want state
	}{
		"pristine": {img, state{}}, "restored": {written, state{written: true, fast: fast}},
		"installed": {installed, state{true, true, fast}},
	} {
		if got, err := inspect(c.img, img, l); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, change := range map[string]func([]byte){
		"foreign change":          func(b []byte) { b[l.entry[clockGettime]+jumpLen] ^= 1 },
		"foreign jump":            func(b []byte) { copy(b[l.entry[clockGettime]:], jump(0, 99)) },
		"another version":         func(b []byte) { b[l.room+uint64(len(code))-1] ^= 1 },
		"jumps that lead nowhere": func(b []byte) { clear(b[l.room:][:8]) },
	} {
		b := bytes.Clone(installed)
		change(b)
		if _, err := inspect(b, img, l); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := inspect(img[:4096], img, l); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a short image: %v", err)
	}
}

func TestPrologue(t *testing.T) {
	tail := "\xc3" + strings.Repeat("\x90", 8)
	for name, c := range map[string]struct {
		fn   string
		want int
	}{
		"frame (6.18)":                 {"\x55\x48\x89\xe5\x41\x56\x53", 6},
		"endbr64, push":                {"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", 5},
		"sub rsp":                      {"\x48\x83\xec\x10\x53\x90", 5},
		"conditional jump":             {"\x83\xff\x17\x0f\x87\x00\x01\x00\x00", 0},
		"lea relative to itself":       {"\x55\x4c\x8d\x15\xe8\x97\xff\xff", 0},
		"call":                         {"\x55\xe8\x00\x00\x00\x00", 0},
		"system call":                  {"\xb8\xe4\x00\x00\x00\x0f\x05", 5},
		"system call within":           {"\x31\xc0\x0f\x05\x90\x90", 0},
		"too short":                    {"\x55", 0},
		"return":                       {"\x31\xc0\xc3\x90\x90", 0},
		"a loop back into the moved":   {"\x55\x48\x89\xe5\x41\x56\x53\xeb\xf8", 0},
		"a loop that does not come so": {"\x55\x48\x89\xe5\x41\x56\x53\xeb\xfd", 6},
	} {
		fn := c.fn
		if name != "too short" && name != "return" {
			fn += tail
		}
		if got := prologue([]byte(fn), jumpLen); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// FuzzPrologue: whatever the bytes, what is found is whole instructions within
// them, and the same without what comes after.
func FuzzPrologue(f *testing.F) {
	img, l := own(f)
	for _, e := range l.entry {
		if e != 0 {
			f.Add(img[e : e+64])
		}
	}
	f.Fuzz(func(t *testing.T, fn []byte) {
		n := prologue(fn, jumpLen)
		if n == 0 {
			return
		}
		if n < jumpLen || n > len(fn) || n >= jumpLen+15 {
			t.Fatalf("%x: %d bytes", fn, n)
		}
		at := 0
		for at < n {
			inst, ok := decode(fn, at)
			if !ok || relative(inst) || leaves[inst.Op] {
				t.Fatalf("%x: instruction at %d", fn, at)
			}
			at += inst.Len
		}
		if at != n || prologue(fn[:n], jumpLen) != n {
			t.Fatalf("%x: %d bytes, instructions end at %d", fn, n, at)
		}
	})
}
