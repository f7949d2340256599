//go:build !linux

package inspector

import "errors"

// Elsewhere this file lets programs build that simulate (hosts/sim). What is declared here means
// what it means on Linux.

var errElsewhere = errors.New("event loops are blocked from outside on Linux alone")

// Node is a program on Node, of which there are none here.
type Node struct{ PID, inner int }

// Find finds nothing here.
func Find([]int) (*Node, error) { return nil, errElsewhere }

func (*Node) wake() error { return errElsewhere }
