package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// internalNames are what exported declarations of public packages may name of packages in
// internal, each with its reason: who imports a public package can't write such a type.
var internalNames = map[string]string{
	"nemesis.Place: internal/hosts.Host":             "the harness says where a fault strikes; who imports nemesis reads specs and kinds",
	"nemesis.Client: internal/hosts.Process":         "as Place",
	"nemesis.Server: internal/hosts.Process":         "as Place",
	"nemesis.AwaitNoProcess: internal/hosts.Host":    "the harness waits for the end of what a fault has left",
	"nemesis.Kill: internal/hosts.Process":           "the harness kills a client that is stuck as the fault does, with the same proof",
	"nemesis.Spec.Cuts: internal/netfault.Cut":       "a partition's shape, for the simulation, which cuts its own links",
	"nemesis.Spec.Decides: internal/netfault.Decide": "what becomes of a packet, for the simulation",
	"locktest.Reading: internal/runs/saved.Reading":  "an alias, by which callers name it",
}

// TestSignaturesArePublic: a program that may import a package can name all that its exported
// declarations name. So no signature, field or variable has a type of an internal package.
func TestSignaturesArePublic(t *testing.T) {
	t.Chdir(root)
	used := map[string]bool{}
	for _, folder := range public {
		err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata") {
				return fs.SkipDir
			}
			if d.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
			if err != nil || f.Name.Name == "main" {
				return err
			}
			for name, exprs := range exported(f) {
				for _, internal := range internals(f, exprs) {
					at := filepath.Dir(file) + "." + name + ": " + internal
					used[at] = true
					if internalNames[at] == "" {
						t.Errorf("%s: unexport it, or say in internalNames why not: %q", file, at)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for at := range internalNames {
		if !used[at] {
			t.Errorf("internalNames allows %q, which nothing names any more", at)
		}
	}
}

// exported are the types that a file's exported declarations name, by the names of those.
func exported(f *ast.File) map[string][]ast.Node {
	all := map[string][]ast.Node{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				of := receiver(d.Recv.List[0].Type)
				if !ast.IsExported(of) {
					continue
				}
				name = of + "." + name
			}
			if d.Name.IsExported() {
				all[name] = append(all[name], d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						all[s.Name.Name] = append(all[s.Name.Name], fieldsOf(s.Type)...)
					}
				case *ast.ValueSpec:
					if s.Type != nil && s.Names[0].IsExported() {
						all[s.Names[0].Name] = append(all[s.Names[0].Name], s.Type)
					}
				}
			}
		}
	}
	return all
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// fieldsOf are what a type shows: of a struct the exported fields, and what it embeds; of any
// other all.
func fieldsOf(t ast.Expr) (shown []ast.Node) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return []ast.Node{t}
	}
	for _, field := range s.Fields.List {
		if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			shown = append(shown, field.Type)
		}
	}
	return shown
}

// internals are the names of internal packages among what is named.
func internals(f *ast.File, named []ast.Node) (found []string) {
	paths := map[string]string{}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		if rest, ours := strings.CutPrefix(p, module); ours && (strings.HasPrefix(rest, "internal/") || strings.Contains(rest, "/internal/")) {
			paths[name] = rest
		}
	}
	for _, n := range named {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && paths[x.Name] != "" {
					if one := paths[x.Name] + "." + s.Sel.Name; !slices.Contains(found, one) {
						found = append(found, one)
					}
				}
			}
			return true
		})
	}
	return found
}
