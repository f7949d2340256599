package audit

import (
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestFull reads logs with too little room on the disk. Wherever that ends, the
// error names the folder, and no file stays open.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	refused := 0
	for seed := range uint64(100) {
		size := 4096 * (1 + int(seed)%10)
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
			t.Skip("no file system of a given size can be mounted here:", err)
		}
		text, o := randomLog(rand.New(rand.NewPCG(seed, 5)))
		want := told([]byte(text), formats.CSV, o, o.block)
		o.keep = cramped
		got := told([]byte(text), formats.CSV, o, o.block)
		if strings.Contains(got, unix.ENOSPC.Error()) && strings.Contains(got, "make room in "+dir) {
			refused++
		} else if got != want {
			t.Errorf("seed %d, %d bytes: %s", seed, size, got)
		}
		if err := unix.Unmount(dir, 0); err != nil { // busy if a file is open
			_ = unix.Unmount(dir, unix.MNT_DETACH)
			t.Fatalf("seed %d, %d bytes: %v after %s", seed, size, err, got)
		}
	}
	if refused < 20 || refused > 80 {
		t.Errorf("%d of 100 logs were refused", refused)
	}
}

// TestEachEnds: whatever ends it, nothing of a history is read or open afterwards.
func TestEachEnds(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	text := "time,client,event\n" + strings.Repeat("1,a,grant\n2,a,write\n2,a,release\n", 2000)
	s, err := Read(strings.NewReader(text), "log", formats.CSV, Options{keep: cramped})
	if err != nil {
		t.Fatal(err)
	}
	stop, n := errors.New("enough"), 0
	if err := s.Each(func(e []history.Event) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("%v after %d calls", err, n)
	}
	s.Close()
	s.Close()
	if steps := s.Steps(1); len(steps) > 0 {
		t.Errorf("a closed history tells %v", steps)
	}
	if open := files(t); len(open) > 0 {
		t.Errorf("open: %v", open)
	}
}

// files are the open files in the folder of temporary files.
func files(t *testing.T) (open []string) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range list {
		if name, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(name, os.TempDir()) {
			open = append(open, name)
		}
	}
	return open
}
