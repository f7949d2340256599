package clockskew

import (
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestChecksOnOtherProcessors: the files that are built for arm64 have all they
// need. What they import is taken as it is on this processor, since compiling
// the standard library for another takes a minute.
func TestChecksOnOtherProcessors(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".").Output()
	ok(t, err)
	exports := map[string]string{}
	for l := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(l), " ")
		exports[path] = file
	}
	other := build.Default
	other.GOARCH = "arm64"
	pkg, err := other.ImportDir(".", 0)
	ok(t, err)
	if !slices.Contains(pkg.GoFiles, "arch_other.go") || slices.Contains(pkg.GoFiles, "arch_amd64.go") {
		t.Errorf("files for arm64: %v", pkg.GoFiles)
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(files, name, nil, 0)
		ok(t, err)
		parsed = append(parsed, f)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.Join(errors.New(path), fs.ErrNotExist)
		}
		return os.Open(exports[path])
	}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", lookup), Sizes: types.SizesFor("gc", "arm64")}
	_, err = config.Check(pkg.Name, files, parsed, nil)
	ok(t, err)
}
