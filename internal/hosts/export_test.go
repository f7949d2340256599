//go:build linux

package hosts

import (
	"context"
	"fmt"
)

// Stop freezes the given processes, as Process.Stop does one group. All of them must live.
func Stop(ctx context.Context, pids []int) (*Pause, error) {
	pause, err := stop(ctx, func() ([]int, error) { return pids, nil }, pids)
	if err != nil {
		return nil, fmt.Errorf("stop processes %v: %w", pids, err)
	}
	return pause, nil
}

// PID is init's, as outer sees it.
func (in *Inner) PID() int { return in.cmd.Process.Pid }
