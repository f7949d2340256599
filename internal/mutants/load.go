package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is a package, parsed and type-checked, and the mutated text of its files.
type source struct {
	dir     string // absolute
	pkg     string // its name
	fset    *token.FileSet
	files   []*ast.File
	info    *types.Info
	text    map[string][]byte // by file name
	mutated map[string][]byte
}

// listed is what go list says of a package.
type listed struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
	DepOnly                       bool
}

// load reads a package. The types of what it imports come from the compiler's
// export data, so that nothing else need be parsed.
func load(ctx context.Context, dir string) (*source, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps",
		"-json=Dir,ImportPath,Name,Export,GoFiles,DepOnly", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", dir, err)
	}
	exports, own := map[string]string{}, listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("what go list says of %s: %w", dir, err)
		}
		if exports[l.ImportPath] = l.Export; !l.DepOnly {
			own = l
		}
	}
	p := &source{dir: own.Dir, pkg: own.Name, fset: token.NewFileSet(), text: map[string][]byte{},
		mutated: map[string][]byte{},
		info:    &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range own.GoFiles {
		text, err := os.ReadFile(filepath.Join(own.Dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.fset, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.files, p.text[name] = append(p.files, f), text
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", lookup)}
	if _, err := conf.Check(own.ImportPath, p.fset, p.files, p.info); err != nil {
		return nil, fmt.Errorf("the package does not compile: %w", err)
	}
	return p, nil
}

// fragment is the source of a piece, on one line.
func (p *source) fragment(from, to token.Pos) string {
	at := p.fset.Position(from)
	return strings.Join(strings.Fields(string(p.text[at.Filename][at.Offset:p.fset.Position(to).Offset])), " ")
}
