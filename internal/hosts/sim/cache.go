package sim

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/cache"
)

// The kinds of what is kept in the user's cache, each in a folder of its own.
const (
	CompiledCode = "wasm"     // by the program's hash
	Programs     = "programs" // the last program of each folder
	Adapters     = "adapters" // the same for this machine
	Overlays     = "overlays" // changed files of the standard library, by their content
	Started      = "started"  // what the user has started that a saved plan may name
	Corpora      = "corpus"   // what explore has learned, by the program's hash
)

// cacheBounds are up to how much is kept of each kind (bytes).
var cacheBounds = map[string]int64{CompiledCode: 1 << 30, Programs: 256 << 20, Adapters: 256 << 20, Overlays: 16 << 20,
	Started: 1 << 20, Corpora: 64 << 20}

// spared is for how long nothing is deleted after its last use: another process may still use it.
const spared = 6 * time.Hour

// CacheEntry returns the path of one entry of a kind in the user's cache, which need not exist, and
// marks it as used. What was not used for longest is deleted, if the kind takes too much room.
func CacheEntry(kind, name string) (string, error) {
	dir, err := cache.Folder(kind)
	if err != nil {
		return "", err
	}
	entry, now := filepath.Join(dir, name), time.Now()
	_ = os.Chtimes(entry, now, now) // it need not exist
	shorten(dir, cacheBounds[kind], now.Add(-spared))
	return entry, nil
}

// shorten deletes entries of a folder that were last used before a time, the oldest first, until
// the rest is no larger than most. What cannot be deleted stays: it is in the way of nobody.
func shorten(dir string, most int64, before time.Time) {
	type entry struct {
		path string
		used time.Time
		size int64
	}
	var all []entry
	var total int64
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		info, err := n.Info()
		if err != nil {
			continue // another process has deleted it
		}
		e := entry{filepath.Join(dir, n.Name()), info.ModTime(), sizeOf(filepath.Join(dir, n.Name()))}
		all, total = append(all, e), total+e.size
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, e := range all {
		if total <= most || !e.used.Before(before) {
			return
		}
		// In one step: who looks for it meanwhile finds all of it or nothing.
		gone := filepath.Join(dir, fmt.Sprintf(".gone-%d-%s", os.Getpid(), filepath.Base(e.path)))
		if os.Rename(e.path, gone) == nil && os.RemoveAll(gone) == nil {
			total -= e.size
		}
	}
}

// sizeOf is how much a file, or all files below a folder, take (bytes).
func sizeOf(path string) (total int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was deleted meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
