package skeleton

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/lockchaos/lockchaos/adapter"
)

// TestWrite: every language has its file, and what is there already stays as it is.
func TestWrite(t *testing.T) {
	var all []Language
	for _, l := range Languages() {
		all = append(all, l, l.Of(adapter.KindJob), l.Of(adapter.KindLeader))
	}
	for _, l := range all {
		dir := filepath.Join(t.TempDir(), "deep", "er")
		if err := Write(l, dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, l.File)
		text, err := os.ReadFile(path)
		if err != nil || len(text) < 1000 || !strings.Contains(string(text), "docs/protocol.md") || strings.Contains(string(text), include) {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
		if strings.ContainsFunc(string(text), func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("%s: javac reads a file as the locale says, which may know ASCII alone", path)
		}
		if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Write(l, dir); err == nil || !strings.Contains(err.Error(), path+" is there already") {
			t.Errorf("written over: %v", err)
		}
		if text, _ := os.ReadFile(path); string(text) != "mine" {
			t.Errorf("%s was written over", path)
		}
	}
	if _, known := Lookup("cobol"); known {
		t.Error("cobol")
	}
}

func TestIn(t *testing.T) {
	quote := func(words ...string) string {
		text := strings.Join(words, " ")
		if strings.Contains(text, " ") {
			return "'" + text + "'"
		}
		return text
	}
	for _, c := range []struct{ dir, command, want string }{
		{"my-lock", "python3 lock.py", "python3 my-lock/lock.py"},
		{".", "python3 lock.py", "python3 lock.py"},
		{"my-lock", "./lock", "./my-lock/lock"},
		{"/tmp/x", "./lock", "/tmp/x/lock"},
		{"../x", "./lock", "./../x/lock"},
		{"my-lock", "java -XX:-UsePerfData -cp . Lock", "java -XX:-UsePerfData -cp my-lock Lock"},
		{"my lock", "java -XX:-UsePerfData -cp . Lock", "java -XX:-UsePerfData -cp 'my lock' Lock"},
		{"my lock", "ruby lock.rb", "ruby 'my lock/lock.rb'"},
		{"my lock", "./lock", "'./my lock/lock'"},
	} {
		if got := In(c.dir, c.command, quote); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.command, c.dir, got, c.want)
		}
	}
}
