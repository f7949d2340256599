package exit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/cache"
)

// TestHostileMachine: what the machine lacks, and an interrupt, are no wrong
// usage, wherever they are met.
func TestHostileMachine(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	_, noTemp := os.CreateTemp("", "lockchaos-log-")
	_, noFolder := os.MkdirTemp("", "lockchaos-build-")
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	_, noCache := cache.Folder("programs")
	_, wrongFile := os.Open(filepath.Join(os.TempDir(), "log.csv"))
	for _, c := range []struct {
		err  error
		code int
	}{
		{noTemp, Failed}, {noFolder, Failed}, {noCache, Failed}, {context.Canceled, Failed},
		{&os.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, Failed},
		{wrongFile, Usage}, {errors.New("unknown lock"), Usage}, {context.DeadlineExceeded, Usage},
	} {
		if c.err == nil {
			t.Fatal("an error that was to come did not")
		}
		if code := Of(Misuse(fmt.Errorf("build: %w", c.err))); code != c.code {
			t.Errorf("%v: exit status %d, want %d", c.err, code, c.code)
		}
	}
}
