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
	functions := map[string][]*ast.FuncDecl{} // by folder
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range source.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				functions[filepath.Dir(path)] = append(functions[filepath.Dir(path)], f)
			}
		}
		return nil
	})
	left := 0
	for folder, all := range functions {
		for name := range leftOf(all) {
			if !strings.HasPrefix(name, "Test") {
				continue
			}
			left++
			if !runs(steps, "./"+folder, name) {
				t.Errorf("no step of the Makefile runs %s of %s", name, folder)
			}
		}
	}
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

// leftOf names the functions of a package that call what leaves a test out of both steps, by
// themselves or by each other.
func leftOf(all []*ast.FuncDecl) map[string]bool {
	left := map[string]bool{}
	for found := true; found; {
		found = false
		for _, f := range all {
			if !left[f.Name.Name] && isLeft(f, left) {
				left[f.Name.Name], found = true, true
			}
		}
	}
	return left
}

// isLeft reports whether a function calls what leaves a test out of both steps, or one that does.
func isLeft(f *ast.FuncDecl, left map[string]bool) bool {
	needs, helped := map[string]bool{}, false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "needed" {
				needs[n.Sel.Name] = true
			}
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.Ident); ok {
				helped = helped || left[called.Name]
			}
		}
		return true
	})
	return helped || needs["Simulates"] || needs["Apart"] || needs["Later"] && needs["WithoutRace"]
}
