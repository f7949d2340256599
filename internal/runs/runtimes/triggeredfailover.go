package runtimes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/hosts/remote"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/nemesis"
)

// The bounds of a failover that a user triggers: of the command, of one look, and until the service
// has another master.
const (
	commandLimit  = time.Minute
	lookLimit     = 5 * time.Second
	turnoverLimit = 30 * time.Second
	turnoverStep  = 50 * time.Millisecond
	// Sentinels leave an old master alone for some ten seconds (8 s, and a look every 10 s).
	settleLimit = 25 * time.Second
	goneLimit   = 5 * time.Second // until an old master that has vanished is not waited for
	mostSaid    = 300
)

// failoverReply is a turnover as outer tells inner of it.
type failoverReply struct {
	nemesis.TriggeredFailover
	Failed string
}

// failOver returns what runs the user's command, and asks the service before and after; nil: there
// is no command.
func (g *Servers) failOver(nodes []remote.Node) remote.Asked {
	if g.command == "" || len(nodes) == 0 {
		return nil
	}
	return func(ctx context.Context) []byte {
		came, err := g.turnOver(ctx, nodes)
		t := failoverReply{TriggeredFailover: came}
		if err != nil {
			t.Failed = err.Error()
		}
		text, _ := json.Marshal(t) // texts and a truth: it cannot fail
		return text
	}
}

// askOuter asks outer for a failover.
func askOuter(ask func(context.Context) ([]byte, error)) func(context.Context) (nemesis.TriggeredFailover, error) {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context) (nemesis.TriggeredFailover, error) {
		text, err := ask(ctx)
		var t failoverReply
		if err == nil {
			err = json.Unmarshal(text, &t)
		}
		if err == nil && t.Failed != "" {
			err = errors.New(t.Failed)
		}
		return t.TriggeredFailover, err
	}
}

func (g *Servers) turnOver(ctx context.Context, nodes []remote.Node) (t nemesis.TriggeredFailover, err error) {
	before, err := askFirst(ctx, g, nodes, probe.Service.Masters)
	if err != nil {
		return t, fmt.Errorf("ask the service for its masters: %w", err)
	}
	replicas, _ := askFirst(ctx, g, nodes, probe.Service.Replication) // who may not ask learns nothing of what was lost
	t.Before, t.After = before.Text, before.Text
	t.Said = g.runCommand(ctx)
	limit, over := context.WithTimeout(ctx, turnoverLimit)
	defer over()
	for step := time.NewTicker(turnoverStep); ; {
		if now, err := askFirst(limit, g, nodes, probe.Service.Masters); err == nil && now.Who != "" {
			t.After, t.Changed = now.Text, changed(before, now)
		}
		if t.Changed {
			t.Kept = g.keptAll(ctx, nodes, replicas)
			return t, nil
		}
		select {
		case <-step.C:
		case <-limit.Done():
			return t, nil // it did not change
		}
	}
}

// keptAll waits until the old masters follow the new ones, and reports whether nothing was lost. It
// asks twice: one may have been asked before the other sent it all data.
func (g *Servers) keptAll(ctx context.Context, nodes []remote.Node, before probe.Replication) bool {
	limit, over := context.WithTimeout(ctx, settleLimit)
	defer over()
	step := time.NewTicker(turnoverStep)
	defer step.Stop()
	seen := time.Now() // when no old master had vanished
	for last := probe.Aftermath(0); len(before) > 0; {
		now, err := askFirst(limit, g, nodes, probe.Service.Replication)
		after := before.After(now)
		switch {
		case err != nil:
			after = 0
		case after == probe.MayHaveLost, after == probe.Vanished && time.Since(seen) > goneLimit:
			return false
		case after == probe.NothingLost && last == probe.NothingLost:
			return true
		case after != probe.Vanished:
			seen = time.Now()
		}
		last = after
		select {
		case <-step.C:
		case <-limit.Done():
			return false
		}
	}
	return false
}

// changed reports whether there are certainly other masters now. Where nobody was known to be one
// before, the change may have been under way already.
func changed(before, now probe.Masters) bool {
	return before.Who != "" && now.Who != "" && now.Who != before.Who
}

// askFirst asks the first node that answers.
func askFirst[T any](ctx context.Context, g *Servers, nodes []remote.Node,
	ask func(probe.Service, context.Context, endpoint.Endpoint, endpoint.Dial) (T, error)) (answer T, err error) {
	for _, n := range nodes {
		service, _ := g.kindOf(n)
		if g.behind(n) {
			continue
		}
		at, wrong := endpoint.Parse(cmp.Or(n.Address, n.Shown))
		if wrong != nil {
			return answer, wrong
		}
		one, over := context.WithTimeout(ctx, lookLimit)
		answer, err = ask(service, one, at, g.dial)
		over()
		if err == nil {
			return answer, nil
		}
	}
	return answer, err
}

// runCommand runs the user's command for a shell, and says what it printed and how it ended.
func (g *Servers) runCommand(ctx context.Context) string {
	ctx, over := context.WithTimeout(ctx, commandLimit)
	defer over()
	cmd := exec.CommandContext(ctx, "sh", "-c", g.command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lookLimit
	out, err := cmd.CombinedOutput()
	said := redact.Text(strings.Join(strings.Fields(string(out)), " "))
	if len(said) > mostSaid {
		said = strings.ToValidUTF8(said[:mostSaid], "") + " …"
	}
	if err != nil {
		return fmt.Sprintf("%q, %v", said, err)
	}
	return fmt.Sprintf("%q", said)
}
