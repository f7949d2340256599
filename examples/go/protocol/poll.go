package protocol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Poll is Acquire for a lock without a queue: try is called again and again, with a pause between,
// until it succeeds or the context ends. It returns nil for a grant, Busy if another clearly has
// the key, or an error that leaves open what happened. Each try must take the key under a value of
// its own: then a grant is no older than the try that succeeded, whatever became of those before.
//
// The context says when the time is over, and does not cut a try off: it would
// leave what it has taken, and an open question. So a try is given grace more.
func Poll(ctx context.Context, pause func() time.Duration, grace time.Duration, try func(context.Context) error) (Grant,
	error) {
	deadline, _ := ctx.Deadline()
	patient, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(grace))
	defer cancel()
	var open error  // of the last try that was left open
	var first int64 // when the first of them was made
	for {
		began := Now()
		err := try(patient)
		if err == nil {
			return Grant{Attempt: began, First: began}, nil
		}
		if !errors.Is(err, Busy) {
			open = err
		}
		if open != nil && first == 0 {
			first = began
		}
		t := time.NewTimer(pause())
		select {
		case <-t.C:
			continue
		case <-ctx.Done():
			t.Stop()
		}
		if open != nil {
			return Grant{First: first}, open
		}
		return Grant{}, Busy
	}
}

// Left is the error of a call that Within has left behind.
var Left = errors.New("the library has not returned, and is left behind")

// Within makes a call that may outlive its context, as one does that waits for a server whatever
// the context says. It returns the call's error. A call that has not returned when the context
// has been over for grace is left behind: the error is then Left, joined with the context's.
func Within(ctx context.Context, grace time.Duration, call func() error) error {
	result := make(chan error, 1)
	go func() { result <- call() }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-result:
		return err
	case <-time.After(grace):
		return fmt.Errorf("%w: %w", Left, ctx.Err())
	}
}

// ValidFor is for how long a library says that a grant is good, as a Grant
// tells it: from its attempt until the instant. Our clock is read first, so
// that a stop in between makes it shorter, never longer. What is over is over.
func ValidFor(attempt int64, until time.Time) time.Duration {
	passed := time.Duration(Now() - attempt)
	left := time.Until(until)
	if left <= 0 {
		return left
	}
	return passed + left
}

// Connections counts those of a library that ended. A request on its way then may not have
// been answered, and if the library sent it again by itself the answer is that to the second
// one: a caller that needs to know looks whether the count has changed. The zero value is ready.
type Connections struct{ ended atomic.Int64 }

// Ended is how many connections have ended, or could not be made.
func (c *Connections) Ended() int64 { return c.ended.Load() }

// Dial is for a library's dialer.
func (c *Connections) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		c.ended.Add(1)
		return nil, err
	}
	return &connection{Conn: conn, of: c}, nil
}

type connection struct {
	net.Conn
	of *Connections
}

// Close is what a library calls after an error on the connection.
func (c *connection) Close() error {
	c.of.ended.Add(1)
	return c.Conn.Close()
}
