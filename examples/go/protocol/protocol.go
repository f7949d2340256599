// Package protocol speaks the protocol of lockchaos adapters (docs/protocol.md), for
// the locks in Go beside it: a type with four methods, given to Main, is an adapter.
//
//	func main() { protocol.Main(open) }
//
// An instance of a scheduler, or a candidate for leadership, calls Serve and Begin instead.
package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// Hello is what lockchaos says first.
type Hello struct {
	// Nodes are the service's addresses: "10.88.0.2:6379".
	Nodes []string
	// Account is whom to log in as if the library insists on a user and a
	// password; nil: none is known.
	Account *Account
	// TTL is how long a lease or session is to last.
	TTL time.Duration
	// Client is who this is ("c3"), for values that a human can read in the service.
	Client string
	// Dir is a folder that all clients of the run share.
	Dir string
	// Every is the period of the job, of an instance of a scheduler; 0: there is none.
	Every time.Duration
}

// Account is whom a client may log in as at the service. The database of Redis is a number.
type Account struct {
	User     string `json:"user"`
	Password string `json:"password"`
	Database string `json:"database"`
}

// Declaration says what may be concluded from the answers. A claim that is not
// made is not held against the lock.
type Declaration struct {
	// Name is what the lock is called, with its version: it stands in the report.
	Name string `json:"name"`
	// Validity: "from_invocation" (the TTL, from the start of the attempt that
	// succeeded), "library" (Grant.ValidFor), "session" (until Lost).
	Validity string `json:"validity,omitempty"`
	// Token: "fencing" (rises with every grant), "version" or "owner" (can be
	// compared for equality); "": there is none.
	Token string `json:"token,omitempty"`
	// Confirms are the ops ("release", "held", "renew") whose ok proves that
	// the lock was still held.
	Confirms []string `json:"confirms,omitempty"`
	// Can are those of "held" and "renew" that the lock has, and that are not in
	// Confirms; and "cancel", if its Acquire ends soon after its context does.
	Can []string `json:"can,omitempty"`
	// LostGraceMS is within which time the lock notices a loss by itself, and says Lost.
	LostGraceMS int64 `json:"lost_grace_ms,omitempty"`
	// Notices is "alone" if it does so by its own clock, cut off or not; else empty.
	Notices string `json:"notices,omitempty"`
	// Tolerates is "minority" if a fault that touches only a minority of the
	// service's nodes is no excuse; else empty.
	Tolerates string `json:"tolerates,omitempty"`
	// Identity is what the lock makes its clients' names of: "unique", "process", "host"; "none"
	// if it takes Hello's Client; empty: no claim.
	Identity string `json:"identity,omitempty"`
	// AbandonsMS is for how long an acquire without a grant may leave something
	// behind; 0: for the TTL.
	AbandonsMS int64 `json:"abandons_ms,omitempty"`
	// LeaseMS is the TTL of a lock whose lease can't be set; 0: the lock keeps to Hello's TTL.
	LeaseMS int64 `json:"lease_ms,omitempty"`
	// Fair: waiters are granted in the order of Grant.Enqueued.
	Fair bool `json:"fair,omitempty"`
	// Permits is how many may hold a key at once; 0: one.
	Permits int `json:"permits,omitempty"`
	// PerAcquire is how many of them one Acquire may ask for, by Permits; 0: one.
	PerAcquire int `json:"permits_per_acquire,omitempty"`
	// MultiKey is how many keys one Acquire may ask for, by Keys; 0: one.
	MultiKey int `json:"multi_key,omitempty"`
	// NoExpiry: a grant does not expire while its holder lives. Reentrant: an
	// owner may acquire again what it holds.
	NoExpiry  bool `json:"no_expiry,omitempty"`
	Reentrant bool `json:"reentrant,omitempty"`
	// ReadWrite: readers do not exclude each other. Reading tells what an Acquire is for.
	ReadWrite bool `json:"read_write,omitempty"`
	// Sessions: the lock has a session at its service, and each grant comes
	// with it (Grant.Session).
	Sessions bool `json:"sessions,omitempty"`
}

// Grant is what comes with a grant. What was declared must be there, and
// nothing else. The stamps are readings of Now; one that is not known is 0.
type Grant struct {
	Token    int64
	ValidFor time.Duration
	// Attempt is when the request that took the lock was sent, First when the
	// first one was that may have taken effect (also of an acquire that
	// failed), Enqueued when the waiter surely stood in the queue.
	Attempt, First, Enqueued int64
	// Session is what the service knows the client's session by, also of an
	// acquire that failed: see the function Session.
	Session string
}

// Session is what a service knows a session by: the number of etcd's lease, of
// PostgreSQL's backend, or of ZooKeeper's session with its password.
func Session(id int64, password ...byte) string {
	if len(password) == 0 {
		return fmt.Sprintf("%#x", uint64(id))
	}
	return fmt.Sprintf("%#x:%x", uint64(id), password)
}

// Lock is your lock. One value is one client, which is asked one thing at a
// time. The context's deadline is the time limit of the call: where a library
// does not keep it, the adapter must. Any error but Busy, NotHeld and
// Unsupported leaves open whether it happened, which is always safe to say.
type Lock interface {
	Declare() Declaration
	// Acquire waits for the key until the context ends: at its deadline, or
	// when the application gives the wait up.
	Acquire(ctx context.Context, key string) (Grant, error)
	// Release gives back what the key's last Acquire was granted. It is called
	// for a lock that is lost, too.
	Release(ctx context.Context, key string) error
	// Close gives up sessions and connections.
	Close(ctx context.Context) error
}

type reading struct{}

// Reading reports whether an Acquire with the context is for reading: of a lock
// that declares ReadWrite.
func Reading(ctx context.Context) bool { return ctx.Value(reading{}) != nil }

type asked struct{}

// Permits returns how many permits an Acquire with the context is for: of a
// lock that declares PerAcquire.
func Permits(ctx context.Context) int {
	n, _ := ctx.Value(asked{}).(int)
	return max(n, 1)
}

type together struct{}

// Keys returns the keys that an Acquire with the context is for, all or none: of a lock
// that declares MultiKey. nil: its key alone. The other calls name the first of them.
func Keys(ctx context.Context) []string {
	keys, _ := ctx.Value(together{}).([]string)
	return keys
}

// Holder is a Lock that can be asked whether the key is still ours.
type Holder interface {
	Held(ctx context.Context, key string) error
}

// Renewer is a Lock whose lease can begin anew. Of the Grant Attempt and ValidFor are used.
type Renewer interface {
	Renew(ctx context.Context, key string) (Grant, error)
}

// Definite is a failure that is certain: nothing happened, and nothing will.
type Definite string

func (d Definite) Error() string { return string(d) }

// The definite failures.
const (
	// another holds the key, and nothing of this attempt is left in the service
	Busy        Definite = "busy"
	NotHeld     Definite = "not_held"    // the service says that it is no longer ours
	Unsupported Definite = "unsupported" // no such op
)

// Main answers requests until there are no more. open is called with the hello;
// it need not connect.
func Main(open func(Hello) (Lock, error)) {
	var lock Lock
	for r := range requests() {
		out, err := reply{}, error(nil)
		if r.Op == "hello" {
			if lock, err = open(r.hello()); err == nil {
				out, err = declared(lock)
			}
		} else {
			out, err = r.answer(lock)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s %s: %v\n", r.Op, r.Key, err)
			out.fail(err)
		}
		out["id"], out["ok"] = r.ID, err == nil
		send(out)
	}
}

// requests reads one after the other. While one is carried out it reads on, and
// cancels the context of one that is given up.
func requests() <-chan request {
	all := make(chan request, 1)
	go func() {
		defer close(all)
		giveUp := func() {}
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			var r request
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", lines.Bytes(), err)
				os.Exit(1)
			}
			if r.Op == "cancel" {
				giveUp() // of a request that is answered by now it means nothing
				continue
			}
			r.ctx, giveUp = context.WithCancel(context.Background())
			all <- r
		}
	}()
	return all
}

// Lost tells that the key's present grant is lost. Any goroutine may.
func Lost(key, why string) { send(reply{"event": "lost", "key": key, "why": why}) }

// Version returns that of a module this program was built with: what was tried
// must stand in the report.
func Version(module string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "of unknown version"
}

type request struct {
	ctx context.Context // of its own, canceled when it is given up

	ID        int64    `json:"id"`
	Op        string   `json:"op"`
	Key       string   `json:"key"`
	Keys      []string `json:"keys"`
	Mode      string   `json:"mode"`
	Permits   int      `json:"permits"`
	TimeoutMS int64    `json:"timeout_ms"`
	Nodes     []string `json:"nodes"`
	Account   *Account `json:"account"`
	TTLMS     int64    `json:"ttl_ms"`
	Client    string   `json:"client"`
	Dir       string   `json:"dir"`
	EveryMS   int64    `json:"every_ms"`
	Run       string   `json:"run"`
}

func (r request) hello() Hello {
	return Hello{Nodes: r.Nodes, Account: r.Account, TTL: time.Duration(r.TTLMS) * time.Millisecond, Client: r.Client,
		Dir: r.Dir, Every: time.Duration(r.EveryMS) * time.Millisecond}
}

// answer carries one request out. The reply is never nil.
func (r request) answer(lock Lock) (reply, error) {
	ctx, cancel := context.WithTimeout(r.ctx, time.Duration(r.TimeoutMS)*time.Millisecond)
	defer cancel()
	switch r.Op {
	case "acquire":
		if r.Mode == "read" {
			ctx = context.WithValue(ctx, reading{}, true)
		}
		ctx = context.WithValue(ctx, asked{}, r.Permits)
		ctx = context.WithValue(ctx, together{}, r.Keys)
		g, err := lock.Acquire(ctx, r.Key)
		if err != nil {
			g = Grant{First: g.First, Session: g.Session}
		}
		return g.reply(), err
	case "release":
		return reply{}, lock.Release(ctx, r.Key)
	case "held":
		if l, can := lock.(Holder); can {
			return reply{}, l.Held(ctx, r.Key)
		}
	case "renew":
		if l, can := lock.(Renewer); can {
			g, err := l.Renew(ctx, r.Key)
			if err != nil {
				g = Grant{}
			}
			return g.reply(), err
		}
	case "close":
		return reply{}, lock.Close(ctx)
	}
	return reply{}, Unsupported
}

// reply is one line, as members.
type reply map[string]any

// declared are the members of a Declaration.
func declared(lock Lock) (reply, error) {
	out := reply{}
	text, err := json.Marshal(lock.Declare())
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

func (g Grant) reply() reply {
	out := reply{}
	for name, value := range map[string]int64{"token": g.Token, "attempt_ns": g.Attempt, "first_ns": g.First,
		"enqueued_ns": g.Enqueued} {
		if value != 0 {
			out[name] = value
		}
	}
	if g.Session != "" {
		out["session"] = g.Session
	}
	if g.ValidFor != 0 {
		out["valid_for_ms"] = float64(g.ValidFor) / float64(time.Millisecond)
	}
	return out
}

// fail adds the error.
func (r reply) fail(err error) {
	var definite Definite
	if errors.As(err, &definite) {
		r["error"] = string(definite)
		return
	}
	r["error"], r["text"] = "unknown", err.Error() // it may have happened, or may yet
}

// send prints one line. It is one write, so that goroutines may send events.
func send(r reply) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and strings
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		os.Exit(1) // nobody listens any more
	}
}
