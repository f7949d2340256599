package redisconn

import (
	"context"
	"errors"
	"net"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Outcome is what is known for certain of one command.
type Outcome int

// The outcomes. Yes: done; No: the server declined (another has the key, it was
// not there); Unknown: sent, perhaps, and not answered.
const (
	Unsent Outcome = iota // carried out nowhere
	Yes
	No
	Unknown
)

// NotSent reports whether the error says that there was no connection to send anything on.
func NotSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// outcome reads a command's end.
func outcome(cmd goredis.Cmder, err error) Outcome {
	var answered goredis.Error
	switch {
	case errors.Is(err, goredis.Nil):
		return No
	case errors.As(err, &answered), NotSent(err): // an error of the server's: nothing was carried out
		return Unsent
	case err != nil:
		return Unknown
	}
	switch c := cmd.(type) {
	case *goredis.BoolCmd:
		if !c.Val() {
			return No
		}
	case *goredis.Cmd: // of a script
		if n, counts := c.Val().(int64); counts && n <= 0 {
			return No
		}
	}
	return Yes
}

// Observer is a hook for go-redis that tells of every command, for a library
// whose errors do not say what was sent and not answered.
type Observer struct {
	// Sending is called before a command is sent, Done when its outcome is
	// known; start is the monotonic time at which it was sent.
	Sending func()
	Done    func(cmd goredis.Cmder, start int64, got Outcome)
}

// DialHook changes nothing.
func (o Observer) DialHook(next goredis.DialHook) goredis.DialHook { return next }

// ProcessPipelineHook changes nothing: the libraries send no pipelines.
func (o Observer) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// ProcessHook looks at one command.
func (o Observer) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		o.Sending()
		start := monotime.Now()
		if err := ctx.Err(); err != nil { // over already: go-redis would not send it either
			cmd.SetErr(err)
			o.Done(cmd, start, Unsent)
			return err
		}
		err := next(ctx, cmd)
		o.Done(cmd, start, outcome(cmd, err))
		return err
	}
}
