package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

// raceLength is how long the clients race for a primitive; probeLimit bounds the probe of one node.
const (
	raceLength = 3 * time.Second
	probeLimit = 30 * time.Second
)

func probeCommand() *cobra.Command {
	where := runtimes.Where{Runtime: runtimes.External}
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "probe --nodes NODE=ADDRESS",
		Short: "Ask a service of yours what it is, and try what locks on it stand on",
		Long: `Connects to each of the servers, logs in, and says what matters to a lock: version, role, clock, round trip, what a restart or a lack of memory leaves
of a lock. No fault is injected. Then 50 clients race for what locks stand on: create-if-absent, compare-and-set, expiry. A server that breaks one is
primitive-broken, and no lock on it can be safe.

What it writes begins with lockchaos_ and letters of its own, and is deleted. NATS' bucket lockchaos and ZooKeeper's znode
/lockchaos stay, in which locks keep their keys. With --read-only it writes nothing and races for nothing.`,
		Example: `  lockchaos probe --nodes redis=127.0.0.1:6379
  lockchaos probe --nodes 'redis=rediss://me:${MY_PASSWORD}@cache.example:6380' --cacert ca.pem`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			servers, err := runtimes.ReadServers(where)
			if err != nil {
				return exit.Misuse(err)
			}
			targets, err := servers.Targets()
			if err != nil {
				return exit.Misuse(err)
			}
			broken := false
			for _, t := range targets {
				b, err := probeOne(cmd.Context(), cmd.OutOrStdout(), t, readOnly)
				if err != nil {
					return exit.With(exit.Failed, fmt.Errorf("%s at %s: %w", t.Name, t.At, err))
				}
				broken = broken || b
			}
			if broken {
				return exit.With(exit.Violated, nil)
			}
			return nil
		},
	}
	addNodes(cmd.Flags(), &where, "the addresses of the servers, as "+nodeForms)
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "write nothing: only ask the servers what they are")
	return cmd
}

// probeOne probes a server, and reports whether it breaks a primitive.
func probeOne(ctx context.Context, out io.Writer, t runtimes.Target, readOnly bool) (broken bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	facts, err := t.Service.Facts(ctx, t.At, t.Dial)
	if err != nil {
		return false, err
	}
	harmless.Fprintf(out, "%s at %s\n", t.Name, t.At)
	for _, f := range facts {
		harmless.Fprintf(out, "  %-16s  %s\n", f.Name, harmless.Line(redact.Text(f.Text)))
		if f.Warning != "" {
			harmless.Fprintf(out, "  %-16s  ! %s\n", "", harmless.Line(f.Warning))
		}
	}
	if readOnly {
		harmless.Fprintln(out, "  nothing was written, so nothing is known of what locks stand on (--read-only)")
		return false, nil
	}
	trials, err := t.Service.Race(ctx, t.At, t.Dial, raceLength)
	for _, one := range trials {
		verdict := "holds: " + one.Did
		if one.Broken != "" {
			verdict, broken = "primitive-broken: "+one.Broken, true
		}
		harmless.Fprintf(out, "  %-16s  %s\n", one.Primitive, harmless.Line(verdict))
	}
	return broken, err
}
