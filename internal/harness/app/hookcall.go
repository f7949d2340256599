package app

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// caller carries a question to a client's hook, and brings the answer.
type caller interface {
	// call waits for it no longer than limit, from when the hook has been
	// asked. An error that is a *hookError says that the hook is not what it
	// should be; any other, that nobody knows whether the op happened.
	call(ctx context.Context, hook scenarios.AppHook, question []byte, limit time.Duration) (hookAnswer, error)
}

// hookAsk is the body of a request, hookAnswer that of its answer: the words of
// the protocol of locks in any language (docs/protocol.md).
type hookAsk struct {
	Key       string `json:"key"`
	Token     int64  `json:"token,omitempty"`
	TimeoutMS int64  `json:"timeout_ms"`
}

type hookAnswer struct {
	OK    bool   `json:"ok"`
	Token int64  `json:"token"`
	Error string `json:"error"`
}

// The errors of hooks that are definite: the op did not happen.
const (
	hookBusy    = "busy"
	hookNotHeld = "not_held"
	hookRefused = "refused"
)

// into says in a line of the log what was answered.
func (r *hookAnswer) into(l *audit.Line) {
	switch {
	case r.OK:
		l.Result = "ok"
		if l.Means == "grant" {
			l.Token = r.Token
		}
	case r.Error == hookBusy && l.Means == "grant":
		l.Means, l.Result = "busy", "failed"
	case r.Error == hookNotHeld && l.Means == "release":
		l.Means, l.Result = "not-held", "failed"
	case r.Error == hookRefused && l.Means == "write":
		l.Means, l.Result = "refused", "refused"
	case r.Error == hookNotHeld && l.Means == "write":
		l.Result = "failed"
	}
}

// hookReply bounds the body of an answer, in bytes.
const hookReply = 1 << 16

// hookError says that a hook is not what it should be.
type hookError struct{ text string }

// Error names the client and the hook.
func (e *hookError) Error() string { return e.text }
