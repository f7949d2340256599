package runtimes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
)

// mostShards is how many pods one run may be cut into.
const mostShards = 1000

// Sharded says how the shards of a run are run in a cluster, each in a pod of a Job.
type Sharded struct {
	Where Where
	// Count is how many there are. Words are those of the command line of each,
	// without --shard, --runtime and --out; Files are files that they name.
	Count int
	Words []string
	Files []string
	// Folder is where the folder of each is copied to, by its number. Line is
	// told each line that one prints.
	Folder string
	Line   func(shard int, line string)
	Stderr io.Writer
}

// Run runs all of them, and returns the folder of each run. Only a shard that
// came to no result is an error: what it found is in its folder.
func (s Sharded) Run(ctx context.Context) (dirs []string, err error) {
	if s.Count > mostShards {
		return nil, exit.Misuse(fmt.Errorf("--shards %d: %d at most", s.Count, mostShards))
	}
	settings, err := ImageSettings(s.Where.Images)
	if err != nil {
		return nil, exit.Misuse(err)
	}
	cluster, err := kubernetes.Connect(ctx, s.Where.Context, s.Where.Namespace)
	if err != nil {
		return nil, err
	}
	if err := cluster.Prepare(ctx); err != nil {
		return nil, err
	}
	c := &kubernetesRuntime{cluster: cluster}
	if c.nodes, err = cluster.Nodes(ctx); err != nil {
		return nil, err
	}
	shards := kubernetes.Shards{Image: c.imageOf(settings, programImage), Inputs: map[string]string{}, Line: s.Line,
		Stderr: s.Stderr}
	words := append([]string{}, s.Words...)
	for i, file := range s.Files {
		name := filepath.Join("inputs", strconv.Itoa(i), filepath.Base(file))
		shards.Inputs[file] = name
		for j, w := range words {
			if w == file {
				words[j] = kubernetes.Below(name)
			}
		}
	}
	for i := range s.Count {
		args := append(append([]string{}, words...), "--runtime", Kubernetes, "--namespace", cluster.Namespace,
			"--image", programImage+"="+shards.Image,
			"--shard", fmt.Sprintf("%d/%d", i+1, s.Count), "--out", kubernetes.ShardOut, "--format", "json")
		shards.Args = append(shards.Args, args)
		shards.Dirs = append(shards.Dirs, filepath.Join(s.Folder, fmt.Sprintf("shard-%d", i+1)))
	}
	statuses, err := cluster.RunShards(ctx, shards)
	var errs []error
	for i := range statuses {
		found, bad := filepath.Glob(filepath.Join(shards.Dirs[i], "*", "run.json"))
		if bad == nil && len(found) == 1 {
			dirs = append(dirs, filepath.Dir(found[0]))
			continue
		}
		errs = append(errs, fmt.Errorf("shard %d of %d left no run, and ended with status %d", i+1, s.Count,
			statuses[i]))
	}
	return dirs, errors.Join(append(errs, err)...)
}

// ShardEvent is what a line of a shard's progress (docs/schema/progress.json)
// says for those who watch all shards; "": nothing.
func ShardEvent(shard, count int, line string) string {
	var e struct {
		Event, Text, Scenario, Result, Runtime string
		Scenarios                              int
		Met                                    bool
	}
	name := fmt.Sprintf("shard %d of %d", shard+1, count)
	if json.Unmarshal([]byte(line), &e) != nil {
		return name + ": " + line // it is no progress: a complaint, say
	}
	switch e.Event {
	case "run":
		return fmt.Sprintf("%s: %d scenario%s", name, e.Scenarios, spelling.Plural(e.Scenarios))
	case "note":
		return name + ": " + e.Text
	case "ended":
		if !e.Met {
			e.Result += ", UNEXPECTED"
		}
		return fmt.Sprintf("%s: %s: %s", name, e.Scenario, e.Result)
	}
	return ""
}
