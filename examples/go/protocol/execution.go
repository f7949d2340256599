package protocol

import (
	"fmt"
	"os"
	"sync"
)

// Execution is one of a job, or a term of a leader. Its work is lockchaos's.
type Execution struct {
	name string
	over chan struct{} // closed when the work is over
}

// executions are those that have begun and not ended, by name.
var executions struct {
	sync.Mutex
	open map[string]*Execution
}

// Begin tells that an execution begins, or a term. No other one has its name, on any client. tick
// is the instant that it is due at, in ms since 1970; 0: it is not known, or it is a term. claimed
// is a reading of Now just before the request that claimed it was sent; 0: it is not known.
func Begin(name string, tick, claimed int64) *Execution {
	e := &Execution{name: name, over: make(chan struct{})}
	executions.Lock()
	if executions.open == nil {
		executions.open = map[string]*Execution{}
	}
	executions.open[name] = e
	executions.Unlock()
	told := reply{"event": "run", "run": name}
	if tick != 0 {
		told["tick"] = tick
	}
	if claimed != 0 {
		told["attempt_ns"] = claimed
	}
	send(told)
	return e
}

// Over is closed when the work is over. A leader is then to step down.
func (e *Execution) Over() <-chan struct{} { return e.over }

// Done tells that the execution is marked as done, or that the leader has stepped down.
func (e *Execution) Done() { e.end(reply{"event": "done", "run": e.name}) }

// Lost tells that the execution is no longer this instance's.
func (e *Execution) Lost(why string) { e.end(reply{"event": "lost", "run": e.name, "why": why}) }

func (e *Execution) end(event reply) {
	take(e.name)
	send(event)
}

// take forgets an open execution, and returns it; nil: there is none of the name.
func take(name string) *Execution {
	executions.Lock()
	defer executions.Unlock()
	e := executions.open[name]
	delete(executions.open, name)
	return e
}

// Claims are those of an instance of a scheduler or a candidate, as members of the reply to the
// hello: "name", and "job" or "leader".
type Claims map[string]any

// Serve answers the requests to an instance of a scheduler, or to a candidate, until there are no
// more. open is called with the hello. The start that it returns runs when the claims are told.
func Serve(open func(Hello) (Claims, func(), error)) {
	for r := range requests() {
		out, start, err := reply{}, func() {}, error(nil)
		switch r.Op {
		case "hello":
			var claims Claims
			claims, start, err = open(r.hello())
			out = reply(claims)
		case "go":
			if e := take(r.Run); e != nil {
				close(e.over)
			} else {
				err = NotHeld
			}
		case "close":
		default:
			err = Unsupported
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", r.Op, err)
			out = reply{}
			out.fail(err)
		}
		out["id"], out["ok"] = r.ID, err == nil
		send(out)
		if err == nil {
			go start()
		}
	}
}
