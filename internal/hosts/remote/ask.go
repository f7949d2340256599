package remote

import (
	"context"
	"errors"
	"net"
	"os"
)

// askVar tells inner that outer does something when it is asked. The socket for that is the file
// behind those of the nodes.
const askVar = "LOCKCHAOS_REMOTE_ASK"

// mostAnswer bounds what outer answers.
const mostAnswer = 64 << 10

// Asked is what outer does when inner asks for it, and what it answers.
type Asked func(context.Context) []byte

// oblige does it each time, until inner is gone.
func oblige(ctx context.Context, inner *net.UnixConn, do Asked) {
	defer inner.Close()
	for question := make([]byte, 1); ; {
		if n, err := inner.Read(question); err != nil || n == 0 {
			return
		}
		answer := do(ctx)
		if _, err := inner.Write(answer[:min(len(answer), mostAnswer)]); err != nil {
			return
		}
	}
}

// asker asks outer, where it does something; nil: it does not.
func asker(nodes int) (func(context.Context) ([]byte, error), error) {
	if os.Getenv(askVar) == "" {
		return nil, nil
	}
	os.Unsetenv(askVar)
	outer, err := messages(os.NewFile(firstFile+uintptr(nodes), "outer"))
	if err != nil {
		return nil, err
	}
	turn := make(chan struct{}, 1)
	return func(ctx context.Context) ([]byte, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		defer func() { <-turn }()
		if _, err := outer.Write([]byte{1}); err != nil {
			return nil, err
		}
		answer := make([]byte, mostAnswer)
		n, err := outer.Read(answer)
		if err == nil && n == 0 {
			err = errors.New("lockchaos has ended")
		}
		return answer[:n], err
	}, nil
}
