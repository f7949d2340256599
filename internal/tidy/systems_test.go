package tidy_test

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// portable are packages that build on other systems, where what needs Linux is refused
// (internal/hosts/other.go).
var portable = []string{
	"./internal/hosts", "./internal/hosts/sim", "./internal/netfault", "./internal/clockskew", "./nemesis",
	"./scenarios", "./clients", "./locktest",
}

// TestOtherSystems: the types of what is portable are right for other systems, with all that it
// imports. To check types takes a tenth of the time that it takes to compile them.
func TestOtherSystems(t *testing.T) {
	needed.Later(t, "the types of a thousand packages are checked")
	for _, system := range []string{"darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.LoadAllSyntax,
				Dir:  "../..",
				Env:  append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
			}, portable...)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			packages.Visit(loaded, nil, func(p *packages.Package) {
				found++
				for _, err := range p.Errors {
					t.Errorf("%s: %v", p.PkgPath, err)
				}
			})
			if found <= len(portable) {
				t.Errorf("%d packages were found", found)
			}
		})
	}
}
