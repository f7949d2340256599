package own

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/conformance"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TrialVerb is what a program runs as in a sandbox to try an adapter on a real service, with the
// trial as JSON. It must call Inside.
const TrialVerb = "try-adapter"

// Trial says which adapter is to be tried.
type Trial struct {
	scenarios.Adapter
	// TTL is what locks are opened with (ns); 0: their own lease where it can't
	// be set, else the usual one. Hello: only to learn what the adapter declares.
	TTL   time.Duration
	Hello bool
	// Kind is that of the adapter (Program.Kind), Every the period of its job.
	Kind  string
	Every time.Duration

	at []remote.Node // where the service is; none: one is started
}

// introduction is what comes of a trial that is only a hello.
type introduction struct {
	Says                   adapter.Declaration
	Grace, Abandons, Lease time.Duration
	Error                  string
}

// Adapter checks a command line and its service, and notes the folder that the command
// is meant for. The command comes without its passwords. Its errors are the user's.
func Adapter(command, service string) (a scenarios.Adapter, err error) {
	services := append(backends.Names(), scenarios.NoService)
	if service == "" {
		return a, exit.Misuse(fmt.Errorf("which service does the lock use? --service, one of %s (for locks on files and the like)",
			strings.Join(services, ", ")))
	}
	if _, known := backends.Lookup(service); !known && service != scenarios.NoService {
		return a, exit.Misuse(fmt.Errorf("there is no service %q%s (there are %s)", service,
			spelling.Suggest(service, services), strings.Join(services, ", ")))
	}
	if command, err = redact.Command(command); err != nil {
		return a, exit.Misuse(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return a, fmt.Errorf("find the folder that the adapter is to start in: %w", err)
	}
	return scenarios.Adapter{Command: command, Dir: dir, Service: service}, nil
}

// Outside runs the trial in a sandbox of its own, and waits for its end. A
// service that this machine can't start is told before.
func (t Trial) Outside(ctx context.Context, stdout, stderr io.Writer) error {
	if k, ok := backends.Lookup(t.Service); ok && len(t.at) == 0 {
		if err := k.Startable(false); err != nil {
			return exit.With(exit.Failed, fmt.Errorf("service %s can't be started here: %w", t.Service, err))
		}
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	inner, err := remote.Start(ctx, hosts.Sandbox{Stdout: stdout, Stderr: stderr}, t.at, nil, TrialVerb, string(text))
	if err != nil {
		return err
	}
	return inner.Wait()
}

// Inside brings the service up and tries the adapter on it; trial is what Outside has written. Its
// error carries the exit status.
func Inside(ctx context.Context, trial string, out io.Writer) (err error) {
	var t Trial
	if err := json.Unmarshal([]byte(trial), &t); err != nil {
		return exit.Misuse(err)
	}
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
	s, err := backends.Start(ctx, network, backends.Spec{Service: scenarios.ServiceNamed(t.Service), Logs: logs,
		Members: backends.Members(attached), Attached: attached, Lent: len(attached) > 0})
	if err != nil {
		return err
	}
	bench := &conformance.Bench{Network: network, Service: t.Service, Nodes: s.Addrs(),
		Account: (*adapter.Account)(s.Account()), Kind: t.Kind, Every: t.Every, Command: t.Command, Dir: t.Dir, Shared: shared, TTL: t.TTL,
		Usual: trialTTL(t.Service)}
	if t.Kind == adapter.KindJob && t.Every == 0 {
		bench.Every = cmp.Or(t.TTL, bench.Usual) / 2
	}
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
	worst, err := conformance.Tell(ctx, bench, s.Version, out)
	runs.TellAdds(out, reports.Suite{StandIns: s.StandIns()})
	if other, ok := errors.AsType[*adapter.LeaseError](err); ok {
		return exit.Misuse(other)
	}
	switch {
	case err != nil:
		return err
	case worst == conformance.Broke:
		return exit.With(exit.Failed, nil)
	case worst == conformance.Failed:
		return exit.With(exit.Violated, nil)
	}
	return nil
}

// trialNetwork is a private network, with relays to the servers that Outside was given, if any.
func trialNetwork(ctx context.Context, logs string) (*hosts.Network, []agent.Attached, error) {
	if !remote.Given() {
		network, err := hosts.NewNetwork(hosts.DefaultPrefix)
		return network, nil, err
	}
	joined, _, err := remote.Join(ctx, logs)
	return joined.Network, joined.Nodes, err
}

// introduce lets the adapter say hello, and prints what it declares, or how it failed.
func introduce(ctx context.Context, bench *conformance.Bench, out io.Writer) error {
	c, err := bench.Start(ctx, func(string, bool, string) {})
	var i introduction
	if err != nil {
		i.Error = err.Error()
	} else {
		i.Says, i.Grace, i.Abandons, i.Lease = c.Says, c.Says.LostGrace, c.Says.Abandons, c.Says.Lease
	}
	return json.NewEncoder(out).Encode(i)
}

// introduced starts the adapter once, on its real service, to learn what it declares.
func (t Trial) introduced(ctx context.Context) (says adapter.Declaration, err error) {
	var out, log bytes.Buffer
	if err := t.Outside(ctx, &out, &log); err != nil {
		return says, fmt.Errorf("try the adapter: %w\n%s", err, harmless.Text(strings.TrimSpace(log.String())))
	}
	var i introduction
	if err := json.Unmarshal(out.Bytes(), &i); err != nil {
		return says, fmt.Errorf("try the adapter: %w", err)
	}
	if i.Error != "" {
		return says, errors.New(harmless.Text(i.Error))
	}
	i.Says.LostGrace, i.Says.Abandons, i.Says.Lease, i.Says.Name = i.Grace, i.Abandons, i.Lease,
		redact.Text(i.Says.Name)
	return i.Says, nil
}

// trialTTL is the TTL with which a lock on the service is tried. Nothing hurries a trial.
func trialTTL(service string) time.Duration { return max(time.Second, backends.UsualTTL(service)) }
