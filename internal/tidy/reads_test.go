package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// reads is what the comment of a property's value says.
	reads = regexp.MustCompile(`reads, beside rules and findings: ([a-z, ]+)\.`)
	// parts are those of the judge's state that not every property reads.
	parts = []string{"book", "cycles", "demands", "explanations", "faults", "figures", "ledger", "records"}
	// receivers are how the checker's methods call the judge, and those parts that read others.
	receivers = []string{"s", "bk", "cy", "ex", "fs"}
)

// TestPropertiesSayWhatTheyRead: the comment of a property's value names the parts of the
// judge's state that its file reads, all of them and no other.
func TestPropertiesSayWhatTheyRead(t *testing.T) {
	t.Chdir(root)
	paths, err := filepath.Glob("checker/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		property := propertyOf(f)
		if property == nil {
			continue
		}
		found++
		said, want := "", strings.Join(partsReadBy(f), ", ")
		if m := reads.FindStringSubmatch(strings.Join(strings.Fields(property.Doc.Text()), " ")); m != nil {
			said = m[1]
		}
		if said != want {
			t.Errorf("%s: beside rules and findings the file reads %s; the comment of its property says %q",
				files.Position(property.Pos()), want, said)
		}
	}
	if found < 15 {
		t.Fatalf("only %d properties in %d files", found, len(paths))
	}
}

// propertyOf is the declaration of the property that a file defines; nil: it defines none.
func propertyOf(f *ast.File) *ast.GenDecl {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR || len(g.Specs) != 1 {
			continue
		}
		if v := g.Specs[0].(*ast.ValueSpec); len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.CompositeLit); ok {
				if name, ok := lit.Type.(*ast.Ident); ok && name.Name == "Property" {
					return g
				}
			}
		}
	}
	return nil
}

// partsReadBy are the parts of the judge's state that a file names.
func partsReadBy(f *ast.File) (read []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(parts, sel.Sel.Name) {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(receivers, x.Name) {
				read = append(read, sel.Sel.Name)
			}
		}
		return true
	})
	slices.Sort(read)
	return slices.Compact(read)
}
