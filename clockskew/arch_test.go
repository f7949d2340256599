package clockskew

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"testing"
)

// TestChecksOnOtherProcessors: for arm64 the package has all it needs, and says that it is not supported. It is type-checked from source:
// compiling the standard library for another processor would take a minute.
func TestChecksOnOtherProcessors(t *testing.T) {
	was := build.Default
	t.Cleanup(func() { build.Default = was })
	build.Default.GOARCH, build.Default.CgoEnabled = "arm64", false
	dir, err := filepath.Abs(".")
	ok(t, err)
	pkg, err := build.ImportDir(dir, 0)
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
	config := types.Config{Importer: importer.ForCompiler(files, "source", nil), Sizes: types.SizesFor("gc", "arm64")}
	_, err = config.Check(pkg.Name, files, parsed, nil)
	ok(t, err)
}
