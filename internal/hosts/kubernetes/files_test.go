package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// folder is one that a test changes.
type folder struct {
	t   *testing.T
	dir string
}

func (f folder) path(name string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f folder) appendTo(name string, data []byte) {
	f.t.Helper()
	file, err := os.OpenFile(f.path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.Write(data)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	file.Close()
}

// replace puts another file in its place, as programs do that never leave half of one.
func (f folder) replace(name string, data []byte) {
	f.t.Helper()
	path := f.path(name)
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) truncate(name string, size int64) {
	f.t.Helper()
	if err := os.Truncate(f.path(name), size); err != nil {
		f.t.Fatal(err)
	}
}

// content is what all files below a folder hold.
func (f folder) content() map[string]string {
	f.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(f.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(f.dir, path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return all
}

func TestMirrorSendsWhatIsNew(t *testing.T) {
	from := folder{t, t.TempDir()}
	var sent []chunk
	m := mirror{dir: from.dir, sent: map[string]sentFile{}, skip: map[string]bool{"theirs": true},
		send: func(c chunk) error { sent = append(sent, c); return nil }}
	step := func(what string, want ...chunk) {
		t.Helper()
		sent = nil
		if err := m.pass(); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(sent) != fmt.Sprint(want) {
			t.Errorf("%s: it sent %v, not %v", what, sent, want)
		}
	}
	step("an empty folder")
	from.appendTo("f", nil)
	step("an empty file", chunk{"f", 0, []byte{}})
	step("nothing new")
	from.appendTo("f", []byte("one"))
	step("a first line", chunk{"f", 0, []byte("one")})
	from.appendTo("f", []byte("two"))
	from.appendTo("theirs", []byte("not ours"))
	step("appended data", chunk{"f", 3, []byte("two")})
	from.replace("f", []byte("replaced, and longer"))
	step("a replaced file", chunk{"f", 0, []byte("replaced, and longer")})
	from.truncate("f", 4)
	step("a shrunken file", chunk{"f", 0, []byte("repl")})
	from.truncate("f", 0)
	step("a file that is empty again", chunk{"f", 0, []byte{}})
	big := bytes.Repeat([]byte("0123456789abcdef"), chunkSize/16+1)
	from.appendTo("f", big)
	step("more than a chunk", chunk{"f", 0, big[:chunkSize]}, chunk{"f", chunkSize, big[chunkSize:]})
	if err := os.Remove(from.path("f")); err != nil {
		t.Fatal(err)
	}
	step("a removed file")
}

// TestMirrorReachesInbox changes a folder at random, looks now and then, and
// wants the other side to have the same.
func TestMirrorReachesInbox(t *testing.T) {
	for seed := range byte(10) {
		source := rand.NewChaCha8([32]byte{seed})
		random := rand.New(source)
		from, to := folder{t, t.TempDir()}, folder{t, t.TempDir()}
		var others bytes.Buffer
		wire := &agent.Lines{Out: &inbox{dir: to.dir, out: &others}}
		m := mirror{dir: from.dir, sent: map[string]sentFile{}, send: func(c chunk) error { return wire.Say(c) }}
		data := func() []byte {
			all := make([]byte, random.IntN([]int{1, 100, 100, 3000, 3000, 3 * chunkSize}[random.IntN(6)]))
			_, _ = source.Read(all) // it never fails
			return all
		}
		for range 30 {
			name := []string{"a", "b", "logs/a", "logs/deep/b"}[random.IntN(4)]
			switch random.IntN(4) {
			case 0:
				from.replace(name, data())
			case 1: // it is not to grow beyond its size before a look
				if info, err := os.Stat(from.path(name)); err == nil && info.Size() > 0 {
					from.truncate(name, random.Int64N(info.Size()))
				}
			default:
				from.appendTo(name, data())
				if random.IntN(2) == 0 {
					continue
				}
			}
			if err := m.pass(); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.pass(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(from.content(), to.content()) {
			t.Errorf("seed %d: the folders differ", seed)
		}
		if others.Len() > 0 {
			t.Errorf("seed %d: files were passed on as text: %.100q", seed, others.String())
		}
	}
}

// TestMirrorKeepsUntilTheEnd wants also what was written last.
func TestMirrorKeepsUntilTheEnd(t *testing.T) {
	from, to := folder{t, t.TempDir()}, folder{t, t.TempDir()}
	wire := &agent.Lines{Out: &inbox{dir: to.dir, out: &bytes.Buffer{}}}
	m := mirror{dir: from.dir, sent: map[string]sentFile{}, send: func(c chunk) error { return wire.Say(c) }}
	ctx, over := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.keep(ctx) }()
	for i := range 20 {
		from.appendTo("history", fmt.Appendf(nil, "line %d\n", i))
		time.Sleep(time.Millisecond) // so that passes come between
	}
	over()
	if err := <-ended; err != nil || !maps.Equal(from.content(), to.content()) {
		t.Errorf("it has %q, %v, not %q", to.content(), err, from.content())
	}
}

func TestFilesOfAFolder(t *testing.T) {
	from, to := folder{t, t.TempDir()}, folder{t, t.TempDir()}
	from.appendTo("plan.yaml", []byte("plan"))
	from.appendTo("deep/er/empty", nil)
	all, err := filesOf(from.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if err := c.write(to.dir); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.Equal(from.content(), to.content()) {
		t.Errorf("it has %q, not %q", to.content(), from.content())
	}
}
