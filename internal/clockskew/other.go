//go:build !linux

package clockskew

import (
	"context"
	"fmt"
)

// Target is a process whose clocks can be changed: there is none on this system.
type Target struct{}

// Stop and Change are as on Linux.
type (
	Stop   func(ctx context.Context) (resume func() error, err error)
	Change struct{}
)

var errElsewhere = fmt.Errorf("clocks of processes: %w: Linux is needed", ErrUnsupported)

func Supported(context.Context) error                         { return errElsewhere }
func Open(int) (*Target, error)                               { return nil, errElsewhere }
func (*Target) Adjust(context.Context, func(Skew) Skew) error { return errElsewhere }
func (*Target) Close()                                        {}
func (*Target) Heal(context.Context) error                    { return errElsewhere }
func (*Target) Install(context.Context) (Change, error)       { return Change{}, errElsewhere }
func (*Target) Installed() (bool, error)                      { return false, errElsewhere }
func (*Target) Now() (Skew, error)                            { return Skew{}, errElsewhere }
func (*Target) Restore(context.Context) (Change, error)       { return Change{}, errElsewhere }
func (*Target) Set(context.Context, Skew) error               { return errElsewhere }
func (*Target) PID() int                                      { return 0 }
func (*Target) StopWith(Stop)                                 {}
