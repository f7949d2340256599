package harness

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/hosts/sim"
)

// sources are the files of this package that decide what a simulation does.
//
//go:embed actor.go client.go counter.go director.go grip.go leader.go semaphore.go simulated*.go transfer.go worker.go worker_store.go
var sources embed.FS

// simulators are the modules that do.
var simulators = []string{"github.com/tetratelabs/wazero", "github.com/alicebob/miniredis/v2", "github.com/yuin/gopher-lua",
	"go.etcd.io/raft/v3", "go.etcd.io/etcd/api/v3", "golang.org/x/net", "google.golang.org/protobuf"}

// SimulatorHash is the SHA-256 of what runs simulations, in hexadecimal: its sources, and the
// versions of the modules that it is made of. With another one a plan may run differently.
var SimulatorHash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, from := range []fs.FS{sources, sim.Sources} {
		_ = fs.WalkDir(from, ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(from, path)
			fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
			return err
		})
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if slices.Contains(simulators, m.Path) {
				fmt.Fprintln(h, m.Path, m.Version)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
})
