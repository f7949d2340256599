//go:build !linux

package hotspot

import (
	"context"
	"errors"
)

// Elsewhere this file lets programs build that simulate (hosts/sim). What is declared here means
// what it means on Linux.

var errElsewhere = errors.New("collections from outside need Linux")

// The types of Linux, of which there are no values here.
type (
	VM    struct{ PID int }
	Ready struct{}
)

// Find finds nothing here.
func Find([]int) (*VM, error) { return nil, errElsewhere }

func (*VM) Able(context.Context) error               { return errElsewhere }
func (*VM) Prepare(context.Context) (*Ready, error)  { return nil, errElsewhere }
func (*Ready) Collect(context.Context) (Stop, error) { return Stop{}, errElsewhere }
func (*Ready) Close(context.Context) error           { return errElsewhere }
