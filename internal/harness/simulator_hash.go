package harness

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/netfault"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// sources are the files of this package and of its rooms.
//
//go:embed *[^t].go *[^s]t.go */*[^t].go */*[^s]t.go
var sources embed.FS

// decisive are the packages that decide each byte of a simulated run: who does what when, what
// faults do, what the store answers, how plans are drawn and histories written.
var decisive = []fs.FS{sources, sim.Sources, nemesis.Sources, netfault.Sources, store.Sources, adapter.Sources,
	external.Sources, history.Sources, scenarios.Sources}

// simulators are the modules that do.
var simulators = []string{"github.com/tetratelabs/wazero", "github.com/alicebob/miniredis/v2",
	"github.com/yuin/gopher-lua",
	"go.etcd.io/raft/v3", "go.etcd.io/etcd/api/v3", "golang.org/x/net", "google.golang.org/protobuf"}

// SimulatorHash is the SHA-256 of what runs simulations, in hexadecimal: its sources, the versions
// of the modules that it is made of, and that of Go. With another one a plan may run differently.
var SimulatorHash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, from := range decisive {
		_ = fs.WalkDir(from, ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(from, path)
			fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
			return err
		})
	}
	fmt.Fprintln(h, runtime.Version())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if slices.Contains(simulators, m.Path) {
				fmt.Fprintln(h, m.Path, m.Version)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
})

// Simulate carries a plan out in virtual time. The same plan and program give
// the same history, byte for byte.
func Simulate(ctx context.Context, cfg simulated.Config) error {
	cfg.Simulator = SimulatorHash()
	return simulated.Run(ctx, cfg)
}
