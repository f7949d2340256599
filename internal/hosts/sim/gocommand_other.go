//go:build !linux

package sim

import (
	"context"
	"os/exec"
)

// goCommand is the go command. Nothing ends it if this process is killed.
func goCommand(ctx context.Context, args []string) *exec.Cmd {
	return exec.CommandContext(ctx, "go", args...)
}
