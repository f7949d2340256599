package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/adapter/conformance"
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/harmless"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/remote"
	"github.com/lockchaos/lockchaos/redact"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/runtimes"
	"github.com/lockchaos/lockchaos/scenarios"
)

// insideVerb is what lockchaos runs as in a sandbox to try an adapter on a real service.
const insideVerb = "try-adapter"

// trial says what is to be tried.
type trial struct {
	scenarios.Adapter
	// TTL is what locks are opened with (ns). Hello: only to learn what the adapter declares.
	TTL   time.Duration
	Hello bool

	at []remote.Node // where the service is; none: one is started
}

// introduction is what comes of a trial that is only a hello.
type introduction struct {
	Says            adapter.Declaration
	Grace, Abandons time.Duration
	Error           string
}

func insideCommand() *cobra.Command {
	return &cobra.Command{
		Use:    insideVerb + " TRIAL",
		Short:  "Try an adapter (inside a sandbox)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !hosts.Inside() {
				return exit.Misuse(errors.New(insideVerb + " is for lockchaos itself: use `lockchaos adapter test`"))
			}
			var t trial
			if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
				return exit.Misuse(err)
			}
			return t.inside(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// inside brings the service up and tries the adapter on it.
func (t trial) inside(ctx context.Context, out io.Writer) (err error) {
	logs, err := hosts.DataDir("logs")
	if err != nil {
		return err
	}
	network, attached, err := trialNetwork(ctx, logs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, network.Close()) }()
	shared, err := hosts.DataDir("shared")
	if err != nil {
		return err
	}
	s, err := backends.Start(ctx, network, backends.Spec{Service: scenarios.ServiceNamed(t.Service), Logs: logs, Attached: attached})
	if err != nil {
		return err
	}
	bench := &conformance.Bench{Network: network, Service: t.Service, Nodes: s.Addrs(), Command: t.Command, Dir: t.Dir, Shared: shared, TTL: t.TTL}
	for _, n := range s.Nodes {
		bench.Hosts = append(bench.Hosts, n.Host)
	}
	if k, _ := backends.Lookup(s.Name); k.HasSessions() {
		bench.Expire = func(ctx context.Context, at netip.Addr, told adapter.Session) ([]string, error) {
			return s.Expire(ctx, backends.Client{Addr: at, Sessions: []backends.Session{backends.Session(told)}})
		}
	}
	if t.Hello {
		return introduce(ctx, bench, out)
	}
	for _, text := range s.StandIns() {
		harmless.Fprintln(out, "STAND-IN:", text)
	}
	return judgeConformance(ctx, bench, s.Version, out)
}

// trialNetwork is a private network, with relays to the servers that outer was given the addresses of, if any.
func trialNetwork(ctx context.Context, logs string) (*hosts.Network, []backends.Attached, error) {
	if !remote.Given() {
		network, err := hosts.NewNetwork(hosts.DefaultPrefix)
		return network, nil, err
	}
	network, nodes, err := remote.Join(ctx, logs)
	return network, runtimes.AttachedTo(nodes), err
}

// introduce lets the adapter say hello, and prints what it declares, or how it failed.
func introduce(ctx context.Context, bench *conformance.Bench, out io.Writer) error {
	c, err := bench.Start(ctx, func(string, bool, string) {})
	var i introduction
	if err != nil {
		i.Error = err.Error()
	} else {
		i.Says, i.Grace, i.Abandons = c.Says, c.Says.LostGrace, c.Says.Abandons
	}
	return json.NewEncoder(out).Encode(i)
}

// outside runs the trial in a sandbox of its own, and waits for its end.
func (t trial) outside(ctx context.Context, stdout, stderr io.Writer) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	inner, err := remote.Start(ctx, hosts.Sandbox{Stdout: stdout, Stderr: stderr}, t.at, insideVerb, string(text))
	if err != nil {
		return err
	}
	return inner.Wait()
}

// newAdapter checks what the flags say of an adapter, and notes the folder that its command is meant for.
func newAdapter(command, service string) (scenarios.Adapter, error) {
	services := append(backends.Names(), scenarios.NoService)
	if service == "" {
		return scenarios.Adapter{}, exit.Misuse(fmt.Errorf("which service does the lock use? --service, one of %s", join(services)))
	}
	if _, known := backends.Lookup(service); !known && service != scenarios.NoService {
		return scenarios.Adapter{}, exit.Misuse(fmt.Errorf("there is no service %q%s (there are %s)", service, suggest(service, services), join(services)))
	}
	command, err := redact.Command(command)
	if err != nil {
		return scenarios.Adapter{}, exit.Misuse(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return scenarios.Adapter{}, fmt.Errorf("find the folder that the adapter is to start in: %w", err)
	}
	return scenarios.Adapter{Command: command, Dir: dir, Service: service}, nil
}
