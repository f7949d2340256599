package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
)

// Client reports whether this process is a client of a run, in which the test
// runs once more up to its call of Run. A test that prepares something that
// clients must not prepare again asks before it does.
func Client() bool { return me.client }

// calls counts the calls of Run in each test: a test may call it more than
// once, and each client belongs to one of them.
var calls = struct {
	sync.Mutex
	of map[*testing.T]int
}{of: map[*testing.T]int{}}

// nextCall is the number of this call.
func nextCall(t *testing.T) int {
	calls.Lock()
	defer calls.Unlock()
	calls.of[t]++
	return calls.of[t]
}

// roleVar tells a copy of the test binary which of a run's processes it is. It
// is taken away before any code of the user runs.
const roleVar = "LOCKCHAOS_LOCKTEST"

const (
	roleRun   = "run"   // "run JOB", inside the sandbox: its last argument is the run's folder
	roleChild = "child" // "child CALL TEST": a node or a client
)

// The descriptors on which a simulated client is spoken with: what it prints does not disturb that.
const (
	simulatedIn  = 8
	simulatedOut = 9
)

// me is what this process is to a run; the zero value: the one that go test started.
var me struct {
	client bool
	test   string
	call   int
	// in and out are where the harness speaks with the client.
	in, out *os.File
}

// become makes this process a client of the call of Run or Simulate in the test.
func become(call, test string) (err error) {
	if me.call, err = strconv.Atoi(call); err != nil {
		return fmt.Errorf("%s: which call? %w", roleVar, err)
	}
	me.client, me.test = true, test
	return nil
}

// client opens one for a run.
func (o Open) client(_ context.Context, c clients.Config) (clients.Lock, error) {
	l, err := o(Nodes{Addrs: c.Nodes, Account: c.Account, TTL: c.TTL, Client: c.Client, Seed: c.Seed,
		Config: c})
	if err == nil && l == nil {
		err = errors.New("the test's function returned neither a lock nor an error")
	}
	return l, err
}

// claims are the scenario's, completed.
func (s Scenario) claims() clients.Claims {
	c := s.Claims
	if c.Job != "" {
		c.Permits, c.Token = 0, "tick"
		return c
	}
	c.Permits, c.Token = cmp.Or(c.Permits, 1), cmp.Or(c.Token, "none")
	return c
}
