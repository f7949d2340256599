package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/scenarios"
)

// hookVerb is the application's hook, as a command: op, file, store. Of some ops it makes a mess.
func hookVerb(args []string) int {
	var ask hookAsk
	if err := json.NewDecoder(os.Stdin).Decode(&ask); err != nil {
		fmt.Fprintln(os.Stderr, "hook:", err)
		return 1
	}
	switch args[0] {
	case "crash":
		fmt.Fprintln(os.Stderr, "first\nit was all the fault of password=sesame")
		return 3
	case "hang":
		select {}
	}
	_ = json.NewEncoder(os.Stdout).Encode(appOp(args[0], args[1], args[2] == "fenced", ask))
	return 0
}

// commanded makes of an application's hooks commands, which executeOn runs.
func commanded(store string) func(*scenarios.Scenario) {
	return func(s *scenarios.Scenario) {
		s.App.Hooks = scenarios.AppHooks{Acquire: scenarios.AppHook{Command: []string{"acquire", store}},
			Write: scenarios.AppHook{Command: []string{"write", store}}, Release: scenarios.AppHook{Command: []string{"release", store}}}
	}
}

// executeOn runs hookVerb on the clients' hosts, as an engine runs a command in
// their containers: with a delay, and whether they are frozen or not.
func executeOn(places []agent.Attached, file string) Execute {
	return func(ctx context.Context, client string, command []string, input []byte, ready func(int) error) (e hosts.Executed, err error) {
		cmd := exec.Command("/proc/self/exe", "hook", command[0], file, command[1])
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return e, err
		}
		if !clock.Pause(ctx, nil, 5*time.Millisecond) {
			return e, context.Cause(ctx)
		}
		var p *hosts.Process
		for _, place := range places {
			if place.Name == client {
				p, err = place.Host.Start(cmd)
			}
		}
		if err == nil {
			err = ready(p.PID())
		}
		if err != nil {
			return e, err
		}
		if _, err := in.Write(input); err != nil {
			return e, err
		}
		_ = in.Close()
		if err := p.Wait(ctx); ctx.Err() != nil {
			return e, err
		}
		return hosts.Executed{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}, nil
	}
}

// Asked by commands, an application does nothing while it is frozen, and goes on with its
// write when it wakes up. (Whether that is seen to be stale hangs on how long the others'
// commands take: on a busy machine their writes may be under way at the same time.)
func TestRunAppWithCommands(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h, err := runApp(t, "unfenced", commanded("unfenced"))
		if err != nil {
			t.Fatal(err)
		}
		appMet(t, h)
		// times that the first thing done after a fault was the write that it had come before
		woken := 0
		for _, f := range h.Events {
			if f.Type != history.Fault || f.Fault.Phase != "end" {
				continue
			}
			next := slices.IndexFunc(h.Events, func(e history.Event) bool {
				return e.Client == f.Client &&
					e.Type == history.OK && e.End > f.Fault.To
			})
			if next >= 0 && h.Events[next].Kind == history.Write && h.Events[next].Start >= f.Fault.To {
				woken++
			}
			for _, e := range h.Events {
				if e.Client == f.Client && e.Type == history.OK && e.Start > f.Fault.From && e.End < f.Fault.To {
					t.Errorf("client %d was frozen from %d to %d, and did %v from %d to %d", e.Client, f.Fault.From,
						f.Fault.To, e.Kind, e.Start, e.End)
				}
			}
		}
		if woken == 0 {
			decided.Lacks("a client that went on with its write")
		}
	})
}

// A command that hangs is ended (runApp looks for what is left), and nobody
// knows what came of its op.
func TestCommandsThatHang(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h, err := runApp(t, "unfenced", func(s *scenarios.Scenario) {
			commanded("unfenced")(s)
			s.App.Hooks.Write.Command[0] = "hang"
			s.App.Clients, s.Faults = s.App.Clients[:1], nil
			s.Duration, s.Workload.OpTimeout = scenarios.Duration(100*time.Millisecond), scenarios.Duration(100*time.Millisecond)
		})
		if err != nil {
			t.Fatal(err)
		}
		unknown := 0
		for _, e := range h.Events {
			if e.Kind == history.Write && e.Type == history.Info {
				unknown++
			}
		}
		if unknown == 0 {
			decided.Lacks("a write of unknown fate")
		}
	})
}

// A hook that fails ends the run: the error names the client and the hook, and shows what it said.
func TestCommandsThatFail(t *testing.T) {
	t.Parallel()
	_, err := runApp(t, "unfenced", func(s *scenarios.Scenario) {
		commanded("unfenced")(s)
		s.App.Hooks.Write.Command[0] = "crash"
	})
	for _, want := range []string{": hook crash unfenced: exit status 3; it printed it was all",
		"first\n\tit was all the fault of password=***"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant %s", err, want)
		}
	}
}

// What a command prints is an answer or not.
func TestAnswersOfCommands(t *testing.T) {
	h := &commandHooks{client: &client{ProcessLog: audit.ProcessLog{Name: "billing-1"}}}
	hook := scenarios.AppHook{Command: []string{"./hook", "write"}}
	for _, c := range []struct {
		stdout, stderr string
		status         int
		want           string
	}{
		{stdout: `{"ok":true,"token":7}`},
		{stdout: "\n {\"ok\":true, \"token\":7}\n", stderr: "careful"},
		{stdout: `{"ok":true}`, status: 1,
			want: `billing-1: hook ./hook write: exit status 1; it printed {"ok":true} (a hook exits with 0`},
		{status: 126, stdout: "exec: nope: not found", want: "exec: nope: not found"},
		{stdout: "", want: "the answer is no JSON object; it printed nothing"},
		{stdout: "true", want: "no JSON object"},
		{stdout: `{"ok":tru`, want: "no JSON object: invalid"},
		{stdout: `{"ok":true,"token":7} {}`, want: "no JSON object"},
		{stdout: `{"ok":true,"error":"` + strings.Repeat("x", hookReply), want: "the answer has 65536 bytes or more"},
		{status: 2, stderr: strings.Repeat("more\n", 100) + "the \xff end", want: "more\n\tthe \uFFFD end"},
	} {
		got, err := h.answer(hook, hosts.Executed{Status: c.status, Stdout: []byte(c.stdout), Stderr: []byte(c.stderr)})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.stdout, err, c.want)
		}
		if err == nil && got != (hookAnswer{OK: true, Token: 7}) {
			t.Errorf("%q: %+v", c.stdout, got)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%d bytes of error", len(err.Error()))
		}
	}
}
