package conformance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
)

// waiter is a lock of each module's language that grants "free", fails to reach the service at
// "away", and waits for any other key until the wait is given up. It has another session at each
// acquire.
var waiter = map[string]struct{ program, text string }{
	"python": {"python3", `
import sys
sys.path.insert(0, "python")
import protocol

class Lock(protocol.Lock):
    def __init__(self, hello):
        self.number = 1
    def declare(self):
        return {"name": "waiter", "validity": "session", "sessions": True, "can": ["cancel"]}
    def session(self):
        return hex(self.number)
    def acquire(self, key, timeout):
        self.number += 1
        if key == "free":
            return {"first_ns": 5}
        if key == "away":
            e = OSError("no route")
            e.first = 6
            raise e
        if not self.given_up.wait(timeout):
            raise RuntimeError("not given up")
        raise protocol.Failure("busy")
    def release(self, key, timeout):
        raise protocol.Failure("not_held")

protocol.main(Lock)
`},
	"node": {"node", `
const { Failure, main } = require(process.cwd() + '/node/protocol.js');
class Lock {
  number = 1;
  declare() { return { name: 'waiter', validity: 'session', sessions: true, can: ['cancel'] }; }
  session() { return '0x' + this.number.toString(16); }
  async acquire(key, timeout, signal) {
    this.number++;
    if (key === 'free') return { first_ns: '5' };
    if (key === 'away') throw Object.assign(new Error('no route'), { first: 6n });
    await new Promise((done, failed) => {
      signal.addEventListener('abort', done);
      setTimeout(() => failed(new Error('not given up')), timeout);
    });
    throw new Failure('busy');
  }
  async release() { throw new Failure('not_held'); }
  async close() {}
}
main(() => new Lock());
`},
}

// TestModules: the modules of the examples tell an adapter's session with its grants, its failures
// and its hello, and give a wait up.
func TestModules(t *testing.T) {
	for language, w := range waiter {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			needPrograms(t, w.program)
			file := filepath.Join(t.TempDir(), "waiter")
			if err := os.WriteFile(file, []byte(w.text), 0o644); err != nil {
				t.Fatal(err)
			}
			tryModule(t, w.program, file)
		})
	}
}

func tryModule(t *testing.T, program, file string) {
	c := adapter.Command(program+" "+file, examples(t))
	in, errIn := c.StdinPipe()
	out, errOut := c.StdoutPipe()
	if err := errors.Join(errIn, errOut, c.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close() // its end
		if err := c.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	}()
	conn := adapter.NewConn(in, out, adapter.Options{Command: program, Process: endless{}, Grace: 5 * time.Second})
	const long, givenUpAfter = 60_000, 100 * time.Millisecond
	for i, asks := range []struct {
		op, key string
		ok      bool
		err     string
		session int64
		first   int64
		cancel  bool
	}{
		{op: adapter.OpHello, ok: true, session: 1},
		{op: adapter.OpAcquire, key: "free", ok: true, session: 2, first: 5},
		{op: adapter.OpRelease, key: "free", err: adapter.NotHeld},
		{op: adapter.OpAcquire, key: "away", err: "unknown", session: 3, first: 6},
		{op: adapter.OpAcquire, key: "taken", err: adapter.Busy, session: 4, cancel: true},
		{op: adapter.OpRenew, key: "free", err: adapter.Unsupported},
		{op: adapter.OpAcquire, key: "taken", err: adapter.Busy, session: 5, cancel: true},
		{op: adapter.OpAcquire, key: "free", ok: true, session: 6, first: 5},
		{op: adapter.OpClose, ok: true},
	} {
		request := adapter.Request{Op: asks.op, Key: asks.key, TimeoutMS: long}
		if asks.op == adapter.OpHello {
			request.Greeting = &adapter.Greeting{Protocol: adapter.Version}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if asks.cancel {
			time.AfterFunc(givenUpAfter, cancel)
		}
		r, err := conn.AskUntil(ctx, request)
		if err != nil {
			t.Fatalf("%d: %s %s: %v", i, asks.op, asks.key, err)
		}
		if r.OK != asks.ok || string(r.Error) != asks.err || r.Session.ID != asks.session || r.First != asks.first {
			t.Errorf("%d: %s %s: %+v, want %+v", i, asks.op, asks.key, r, asks)
		}
		if asks.err == "unknown" && !strings.Contains(r.Text, "no route") {
			t.Errorf("the failure says %q", r.Text)
		}
	}
}

// endless is a process of which nothing is known.
type endless struct{}

func (endless) Exited() <-chan struct{} { return nil }
func (endless) How() string             { return "" }
func (endless) Log() string             { return "" }
