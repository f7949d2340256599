//go:build !linux

package external

import (
	"context"
	"errors"

	"github.com/lockchaos/lockchaos/clients"
)

// process is that of an adapter; there is none.
type process struct{}

func (*process) end(context.Context) error { return nil }

func (*lock) checkReachable() error { return nil }

// Open says that there is no such lock here.
func Open(context.Context, clients.Config) (clients.Lock, error) {
	return nil, errors.New("a lock that is a program needs Linux; a simulated one does not")
}
