package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestRegexps: each expression that is compiled when it is first used can be compiled. No start of
// the program shows it.
func TestRegexps(t *testing.T) {
	t.Chdir(root)
	compiled := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		if slices.Contains([]string{".git", "testdata", "node_modules"}, d.Name()) {
			return filepath.SkipDir
		}
		compiled += compileIn(t, path)
		return nil
	})
	if err != nil || compiled < 40 {
		t.Fatalf("%d expressions, %v", compiled, err)
	}
}

// compileIn compiles the lazy expressions of a package whose text is constant, and returns how many
// there are.
func compileIn(t *testing.T, dir string) (compiled int) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	files, constants := token.NewFileSet(), map[string]ast.Expr{}
	var parsed []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
		for _, d := range f.Decls {
			g, is := d.(*ast.GenDecl)
			if !is || g.Tok == token.IMPORT || g.Tok == token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				for i, value := range v.Values {
					constants[v.Names[i].Name] = value
				}
			}
		}
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) != 1 || !isLazy(call.Fun) {
				return true
			}
			if text, known := textOf(call.Args[0], constants); known {
				compiled++
				if _, err := regexp.Compile(text); err != nil {
					t.Errorf("%s: %v", files.Position(call.Pos()), err)
				}
			}
			return true
		})
	}
	return compiled
}

// isLazy reports whether a function is lazyregexp.New.
func isLazy(function ast.Expr) bool {
	selected, is := function.(*ast.SelectorExpr)
	if !is || selected.Sel.Name != "New" {
		return false
	}
	from, is := selected.X.(*ast.Ident)
	return is && from.Name == "lazyregexp"
}

// textOf is the text of an expression that is made of literals and of a package's constants.
func textOf(e ast.Expr, constants map[string]ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return textOf(e.X, constants)
	case *ast.Ident:
		value, known := constants[e.Name]
		if !known {
			return "", false
		}
		return textOf(value, constants)
	case *ast.BinaryExpr:
		first, known := textOf(e.X, constants)
		second, also := textOf(e.Y, constants)
		return first + second, known && also
	}
	return "", false
}
