package agent

import (
	"context"
	"fmt"
	"time"
)

// Started is an agent as outer has started it.
type Started struct {
	// Where names it: "the agent on node-1".
	Where string
	// Output receives the end of its output, once.
	Output chan error
	// End ends its input, by which it is told to end.
	End func()
	// Status is how it has ended, nil for 0; lost is why its output has.
	Status func(lost error) error
}

// Wait returns when the agent has ended. If ctx ends first, the agent is told to end.
func (s Started) Wait(ctx context.Context) error {
	select {
	case err := <-s.Output:
		return s.Status(err)
	case <-ctx.Done():
	}
	s.End()
	t := time.NewTimer(Grace)
	defer t.Stop()
	select {
	case err := <-s.Output:
		return s.Status(err)
	case <-t.C:
		return fmt.Errorf("%s has not ended %v after it was told to", s.Where, Grace)
	}
}

// ExitError says how the inner program ended.
type ExitError struct {
	Where  string // "the agent's pod"
	Status int
}

// Error names the status.
func (e *ExitError) Error() string { return fmt.Sprintf("%s: exit status %d", e.Where, e.Status) }

// ExitCode returns the status, as that of an *exec.ExitError.
func (e *ExitError) ExitCode() int { return e.Status }
