package locktest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/adapted"
)

// init notes whose client this program is.
func init() {
	role := strings.SplitN(os.Getenv(roleVar), " ", 3)
	os.Unsetenv(roleVar)
	if role[0] != roleChild || len(role) != 3 {
		return
	}
	if err := become(role[1], role[2]); err != nil {
		fmt.Fprintln(os.Stderr, "locktest:", err)
		os.Exit(1)
	}
}

// Simulate is the client of a simulation, if it is the call that the client is
// of: it does not return then.
func Simulate(t *testing.T, s Scenario, open Open) {
	t.Helper()
	if call := nextCall(t); !mine(t) || me.test != t.Name() || me.call != call {
		return
	}
	name := lockName(me.test)
	in, out := os.NewFile(simulatedIn, "requests"), os.NewFile(simulatedOut, "replies")
	if err := (adapted.Lock{Open: open.client, Says: clients.Declaration{Name: name, Claims: s.claims()}}).Serve(in,
		out); err != nil {
		fmt.Fprintln(os.Stderr, "locktest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// mine skips the test where this program is no client: nothing but a simulation runs it.
func mine(t *testing.T) bool {
	t.Helper()
	if !me.client {
		t.Skip("locktest: a wasip1 program is only a client of a simulation")
	}
	return true
}

// Exam comes to the attack that the client is of, if it is simulated.
func Exam(t *testing.T, e Examination, open Open) {
	t.Helper()
	if attack, ours := strings.CutPrefix(me.test, t.Name()+"/"); mine(t) && ours && e.Simulated {
		t.Run(attack, func(t *testing.T) { Simulate(t, e.scenario(nil), open) })
	}
}

// Run and RunAll are calls of others.
func Run(t *testing.T, _ Scenario, _ Open) {
	t.Helper()
	nextCall(t)
	mine(t)
}

// Check judges nothing here: the log is that of the whole test.
func Check(t testing.TB, _ string, _ ...any) { t.Helper() }

// RunAll is as Run.
func RunAll(t *testing.T, _ Scenario, _ Open) {
	t.Helper()
	mine(t)
}

// Complete is the client of a search, as Simulate is of a simulation.
func Complete(t *testing.T, s Scenario, open Open) {
	t.Helper()
	Simulate(t, s, open)
}
