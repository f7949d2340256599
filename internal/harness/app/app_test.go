package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sys/unix"
)

// appVerb is an application of somebody's own, on port 8080 of the address: a lease
// in a file that all its processes share, with hooks. Its store has a fence or not.
func appVerb(args []string) int {
	addr, file, fenced := args[0], args[1], args[2] == "fenced"
	for _, op := range []string{"acquire", "write", "release"} {
		http.HandleFunc("/"+op, func(w http.ResponseWriter, r *http.Request) {
			var ask hookAsk
			if json.NewDecoder(r.Body).Decode(&ask) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			_ = json.NewEncoder(w).Encode(appOp(op, file, fenced, ask))
		})
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServe(net.JoinHostPort(addr, "8080"), nil))
	return 1
}

// appOp is one op of the application.
func appOp(op, file string, fenced bool, ask hookAsk) hookAnswer {
	return withState(file, ask.Key, func(a *appState) hookAnswer {
		switch {
		case op == "acquire" && time.Now().UnixNano() < a.Until:
			return hookAnswer{Error: hookBusy}
		case op == "acquire":
			a.Token++
			a.Until = time.Now().Add(appTTL).UnixNano()
			return hookAnswer{OK: true, Token: a.Token}
		case op == "write" && fenced && ask.Token < a.Seen:
			return hookAnswer{Error: hookRefused}
		case op == "write":
			a.Seen = max(a.Seen, ask.Token)
		case a.Token != ask.Token:
			return hookAnswer{Error: hookNotHeld}
		default:
			a.Until = 0
		}
		return hookAnswer{OK: true}
	})
}

// appTTL is the lease of the application's lock.
const appTTL = 300 * time.Millisecond

// appState is what the application's processes share about a key.
type appState struct{ Token, Until, Seen int64 }

// withState changes a key's state with the others shut out.
func withState(file, key string, do func(*appState) hookAnswer) hookAnswer {
	f, err := os.OpenFile(file+key, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return hookAnswer{Error: err.Error()}
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return hookAnswer{Error: err.Error()}
	}
	var a appState
	_ = json.NewDecoder(f).Decode(&a) // empty at first
	answer := do(&a)
	text, _ := json.Marshal(a)
	_ = f.Truncate(0)
	_, _ = f.WriteAt(text, 0)
	return answer
}

// runApp runs an application of three processes, whose holder is frozen before it writes.
func runApp(t *testing.T, store string, change func(*scenarios.Scenario)) (*history.History, error) {
	t.Helper()
	network, _ := hoststest.Network(t)
	defer func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	ms := func(n int) scenarios.Duration { return scenarios.Duration(time.Duration(n) * time.Millisecond) }
	s := scenarios.Scenario{Name: "app", Lock: "own", TTL: scenarios.Duration(appTTL), Keys: 1, Duration: ms(2500),
		App: &scenarios.App{Hooks: scenarios.AppHooks{Port: 8080, Acquire: scenarios.AppHook{Path: "/acquire"},
			Write: scenarios.AppHook{Path: "/write"}, Release: scenarios.AppHook{Path: "/release"}}},
		Workload: scenarios.Workload{Think: scenarios.Range{Min: ms(1), Max: ms(3)},
			Rest: scenarios.Range{Min: ms(5), Max: ms(10)}, AcquireTimeout: ms(5000), OpTimeout: ms(5000)},
		Faults: []scenarios.Fault{{Kind: "pause", Target: "holder", When: "before-write", For: ms(700), After: ms(50),
			Every: scenarios.Range{Min: ms(50), Max: ms(50)}}}}
	var attached []agent.Attached
	for _, name := range []string{"a", "b", "c"} {
		host, err := network.AddHost(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := network.Await(t.Context(), host); err != nil {
			t.Fatal(err)
		}
		proc, err := host.Start(exec.Command("/proc/self/exe", "app", host.Addr.String(), filepath.Join(dir, "state-"), store))
		if err != nil {
			t.Fatal(err)
		}
		listens(t, host)
		attached = append(attached, agent.Attached{Name: name, Host: host, Process: proc})
		s.App.Clients = append(s.App.Clients, name)
	}
	if change != nil {
		change(&s)
	}
	file := filepath.Join(dir, "history.jsonl")
	err := Run(t.Context(), Config{Plan: scenarios.Plan{Seed: 7, Scenario: s}, Attached: attached, Logs: dir, History: file,
		Execute: executeOn(attached, filepath.Join(dir, "state-"))})
	for _, a := range attached {
		if left, err := a.Host.PIDs(); err != nil || !slices.Equal(left, []int{a.Process.PID()}) {
			t.Errorf("on host %s there are processes %v, %v; the application is %d", a.Name, left, err, a.Process.PID())
		}
	}
	if err != nil {
		return nil, err
	}
	h, err := history.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return h, nil
}

// listens waits until the application on the host does.
func listens(t *testing.T, h *hosts.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	for {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(h.Addr.String(), "8080"), time.Second)
		if err == nil {
			conn.Close()
			return
		}
		if !clock.Pause(ctx, nil, 5*time.Millisecond) {
			t.Fatalf("the application on host %s does not listen: %v", h.Name, err)
		}
	}
}

// Asked by hooks, an application shows what its lease can't prevent, and what its fence does.
func TestRunAppWithHooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		store string
		want  checker.Outcome
	}{{"unfenced", checker.Violated}, {"fenced", checker.Pass}} {
		t.Run(c.store, func(t *testing.T) {
			t.Parallel()
			// Answers do not tell the order of two writes that were under way together. On a busy
			// machine more of them are, and the judge leaves open what that order would decide.
			decided.Run(t, func() {
				h, err := runApp(t, c.store, nil)
				if err != nil {
					t.Fatal(err)
				}
				appMet(t, h)
				v := checker.Judge(h, checker.Options{})
				switch r := v.Property(checker.UnfencedWrite); {
				case r.Outcome == c.want:
				case r.Outcome == checker.Inconclusive || c.want == checker.Violated:
					decided.Lacks("that an unfenced write is %v: it is %v, %s", c.want, r.Outcome, r.Why)
				default:
					t.Errorf("an unfenced write is %v, want %v: %+v", r.Outcome, c.want, r.Violations)
				}
			})
		})
	}
}

// appMet fails the test if the run was cut, or its lock is blamed for a second
// holder, which it never lets in. A run whose faults met no holder decides nothing.
func appMet(t *testing.T, h *history.History) {
	t.Helper()
	v := checker.Judge(h, checker.Options{Keep: 5})
	if h.Truncated {
		t.Error("the run was cut")
	}
	if m := v.Property(checker.MutualExclusion); m.Kinds["granted-while-valid"] > 0 {
		t.Errorf("a false alarm: %v", m.Violations)
	}
	if v.Stats.Bites == 0 {
		decided.Lacks("a fault that met a holder")
	}
}

// A hook that is none ends the run, and the error names it.
func TestHooksThatAreNone(t *testing.T) {
	t.Parallel()
	_, err := runApp(t, "unfenced", func(s *scenarios.Scenario) { s.App.Hooks.Write.Path = "/nowhere" })
	if err == nil || !strings.Contains(err.Error(), "/nowhere: status 404") {
		t.Errorf("error %v", err)
	}
}

// A log that grows is read in whole lines, and one that shrinks is refused.
func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	put := func(text string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	put("one\ntw")
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := tail{file: f, name: "app's log"}
	for _, c := range []struct{ put, want string }{{"", "one"}, {"", ""}, {"o\nthree\n", "two three"}} {
		put(c.put)
		got, err := l.lines()
		var words []string
		for _, line := range got {
			words = append(words, string(line))
		}
		if err != nil || strings.Join(words, " ") != c.want {
			t.Errorf("%q, %v; want %q", words, err, c.want)
		}
	}
	if err := os.Truncate(file, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.lines(); err == nil || !strings.Contains(err.Error(), "app's log was cut or replaced") {
		t.Errorf("a log that was cut: %v", err)
	}
}
