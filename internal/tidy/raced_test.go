package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoneIsLeftOut: a test that `make test` leaves to `make test-all`, and that is not run with
// the race detector, is among those that `make test-all` runs without it.
func TestNoneIsLeftOut(t *testing.T) {
	t.Chdir(root)
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var steps []unraced
	for _, m := range regexp.MustCompile(`(?m)^\t\$\(GO\) test .*?(?:-run '?(\S+?)'? )?(\./\S.*)$`).FindAllStringSubmatch(string(text), -1) {
		steps = append(steps, unraced{regexp.MustCompile(m[1]), strings.Fields(m[2])})
	}
	left := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range source.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") || !isLeft(f) {
				continue
			}
			left++
			if !runs(steps, "./"+filepath.Dir(path), f.Name.Name) {
				t.Errorf("%s: no step of the Makefile runs %s", path, f.Name.Name)
			}
		}
		return nil
	})
	if err != nil || left < 10 || len(steps) == 0 {
		t.Errorf("%d tests are left to %d steps; %v", left, len(steps), err)
	}
}

// unraced is a step of the Makefile: which tests it runs of which packages.
type unraced struct {
	tests    *regexp.Regexp
	packages []string
}

func runs(steps []unraced, folder, test string) bool {
	for _, s := range steps {
		for _, p := range s.packages {
			if p == folder && s.tests.MatchString(test) {
				return true
			}
		}
	}
	return false
}

// isLeft reports whether a test calls what leaves it out of both.
func isLeft(f *ast.FuncDecl) bool {
	calls := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			calls[s.Sel.Name] = true
		}
		return true
	})
	return calls["Simulates"] || calls["Later"] && calls["WithoutRace"]
}
