package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// riddles are names that only their author can guess: what a function does, and what a file or a
// type holds, has a word of the field, or of Go.
var riddles = []string{"alike", "alone", "apart", "asked", "besides", "calm", "crowd", "doubts", "forms", "gap", "grip", "hit",
	"holdup", "inquiry", "known", "met", "moments", "onkey", "others", "outlook", "past", "side", "sightings", "snare",
	"sparse", "sprung", "telling", "told", "together", "vigil", "voice"}

// TestNames: no file, and nothing that is declared for a whole package, has a name that says
// nothing to a newcomer.
func TestNames(t *testing.T) {
	t.Chdir(root)
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules", "survey", "examples"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		seen++
		if slices.Contains(riddles, strings.TrimSuffix(d.Name(), ".go")) {
			t.Errorf("%s: name the file after its main type, or after what it does", path)
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range declared(f) {
			if slices.Contains(riddles, name.Name) {
				t.Errorf("%s: %s says nothing to a newcomer", files.Position(name.Pos()), name.Name)
			}
		}
		return nil
	})
	if err != nil || seen < 500 {
		t.Fatalf("%d files, %v", seen, err)
	}
}

// declared are the names that a file declares for its package, methods included.
func declared(f *ast.File) (names []*ast.Ident) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name)
				case *ast.ValueSpec:
					names = append(names, s.Names...)
				}
			}
		}
	}
	return names
}
