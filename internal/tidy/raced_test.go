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
	tests := regexp.MustCompile(`(?m)^APARTS  := (.*)$`).FindSubmatch(text)
	packages := regexp.MustCompile(`(?m)^\t\$\(SUM\) .*-run '\$\(APARTS\)' (.*)$`).FindSubmatch(text)
	all := regexp.MustCompile(`(?m)^\t\$\(GO\) test \$\(TESTED\) -timeout 60m (\./.*)$`).FindSubmatch(text)
	if tests == nil || packages == nil || all == nil {
		t.Fatal("the Makefile has no step for the tests that are left out of the others")
	}
	steps := []unraced{
		{regexp.MustCompile(strings.ReplaceAll(string(tests[1]), "$$", "$")), strings.Fields(string(packages[1]))},
		{regexp.MustCompile(""), strings.Fields(string(all[1]))},
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
	if err != nil || left < 10 {
		t.Errorf("%d tests are left; %v", left, err)
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
	return calls["Simulates"] || calls["Apart"] || calls["Later"] && calls["WithoutRace"]
}
