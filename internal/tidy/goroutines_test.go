package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSingleHaveNoGoroutines: `make test-all` leaves the packages of SINGLE
// out, because the race detector would find nothing in them. They have no go
// statement, and import no package that shares memory between goroutines.
func TestSingleHaveNoGoroutines(t *testing.T) {
	t.Chdir(root)
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^SINGLE := (.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("the Makefile has no list SINGLE")
	}
	args := append([]string{"list", "-f", `{{.Dir}}`}, strings.Fields(string(line[1]))...)
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for dir := range strings.Lines(string(out)) {
		sources, err := filepath.Glob(filepath.Join(strings.TrimSpace(dir), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			if !strings.HasSuffix(source, "_test.go") {
				noGoroutines(t, source)
			}
		}
	}
}

func noGoroutines(t *testing.T, source string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, source, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		switch i.Path.Value {
		case `"sync/atomic"`, `"golang.org/x/sync/errgroup"`:
			t.Errorf("%s: a package of SINGLE imports %s", files.Position(i.Pos()), i.Path.Value)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			t.Errorf("%s: a package of SINGLE starts a goroutine", files.Position(g.Pos()))
		}
		return true
	})
}
