package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildTests: what is wrong in a package's tests is told as the compiler
// does, with file and line, and no program of before is taken for them.
func TestBuildTests(t *testing.T) {
	cache, err := Go(t.Context(), ".", nil, "env", "GOCACHE")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", cache)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/mine\n\ngo 1.26\n")
	write("mine.go", "package mine\n")
	const body = "package mine\n\nimport \"testing\"\n\nfunc TestMine(t *testing.T) { t.Log(%) }\n"
	var last []byte
	for _, c := range []struct{ name, test, want string }{
		{"right", strings.Replace(body, "%", "1", 1), ""},
		{"a mistake", strings.Replace(body, "%", "two", 1), "mine_test.go:5:37: undefined: two"},
		{"left out", "//go:build linux\n\n" + strings.Replace(body, "%", "1", 1), "it has no tests"},
		{"changed", strings.Replace(body, "%", `"three"`, 1), ""},
	} {
		write("mine_test.go", c.test)
		wasm, err := BuildTest(t.Context(), dir, "")
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && string(wasm) == string(last):
			t.Errorf("%s: the program of before", c.name)
		}
		last = wasm
	}
	again, err := BuildTest(t.Context(), dir, "")
	if err != nil || string(again) != string(last) {
		t.Errorf("built twice, it is not the same: %v", err)
	}
	if _, err := Build(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "it is no program (package main)") {
		t.Error(err)
	}
}
