package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
)

// checkShards refuses what --shards does not go together with.
func (f *runFlags) checkShards() error {
	switch {
	case f.shards == 0:
		return nil
	case f.shards < 0 || f.Runtime != runtimes.Kubernetes:
		return exit.Misuse(fmt.Errorf("--shards %d: want how many pods, with --runtime %s", f.shards,
			runtimes.Kubernetes))
	case f.Shard.Total > 0 || f.repeat > 1 || f.Only.LastFailed:
		return exit.Misuse(errors.New("--shards runs all parts of what is named, once: give no --shard, --repeat or --last-failed beside it"))
	case f.Own.Given():
		return runtimes.OnlyHere("--lock-cmd", f.Runtime)
	}
	return nil
}

// runShards runs each part in a pod of its own, and merges them. The folders of
// the parts stay where a part has left none.
func (f *runFlags) runShards(cmd *cobra.Command, out *screen.Screen) error {
	if err := os.MkdirAll(f.Out, 0o755); err != nil {
		return fmt.Errorf("make the folder for runs: %w", err)
	}
	parts, err := os.MkdirTemp(f.Out, ".shards-")
	if err != nil {
		return fmt.Errorf("make a folder for the shards: %w", err)
	}
	words := append(f.words(), "--retries", strconv.Itoa(f.Retries))
	for _, image := range f.Images {
		words = append(words, "--image", image)
	}
	s := runtimes.Sharded{Where: f.Where, Count: f.shards, Words: words, Folder: parts, Stderr: cmd.ErrOrStderr(),
		Line: func(shard int, line string) {
			if text := runtimes.ShardEvent(shard, f.shards, line); text != "" {
				out.Say(text)
			}
		}}
	for _, name := range append([]string{f.Plan}, f.Names...) {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			s.Files = append(s.Files, name)
		}
	}
	dirs, failed := s.Run(cmd.Context())
	if len(dirs) == 0 {
		return errors.Join(failed, os.RemoveAll(parts))
	}
	dir, err := runs.MergeShards(f.Out, dirs)
	if err != nil {
		return errors.Join(failed, err)
	}
	if failed == nil {
		err = os.RemoveAll(parts)
	}
	return errors.Join(failed, err, experiments.Report(cmd.Context(), ours(), dir,
		func() (*screen.Screen, error) { return out, nil }))
}
