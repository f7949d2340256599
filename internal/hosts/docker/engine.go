package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/lockchaos/lockchaos/internal/hosts/docker/early"
)

func init() { early.Restore() }

// Engine is a Docker engine that answers. Safe for concurrent use.
type Engine struct {
	// Version is what the engine says of itself: "20.10.24".
	Version string

	client   client.APIClient
	provider *testcontainers.DockerProvider
	owner    owner
	networks atomic.Uint32 // how many were made: where to look for a free range next
	agent    struct {
		sync.Mutex
		image string
	}
}

// AbsentError says that no engine can be used, and what to do about it.
type AbsentError struct {
	Err error
	Fix string
}

// Error is the reason and the remedy in one line.
func (e *AbsentError) Error() string {
	// the library lists every place where it looked
	reason, _, _ := strings.Cut(e.Err.Error(), "\n")
	return fmt.Sprintf("no Docker engine: %s; %s", reason, e.Fix)
}

// Unwrap returns the reason.
func (e *AbsentError) Unwrap() error { return e.Err }

// connectLimit bounds how long an engine may take to say that it is there.
const connectLimit = 5 * time.Second

// Connect finds the engine as the docker command does (DOCKER_HOST, the current context,
// the usual sockets) and asks whether it is there. If not, the error is an *AbsentError.
func Connect(ctx context.Context) (*Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	// We clean up ourselves, by labels: a container that does so would need an
	// image of its own, and the engine's socket.
	os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	log.SetDefault(log.NewNoopLogger())
	provider, err := newProvider()
	if err != nil {
		return nil, absent(err)
	}
	c := provider.Client()
	// The library takes another engine where the one that was asked for does
	// not answer. That would be a surprise.
	if want := os.Getenv("DOCKER_HOST"); want != "" && c.DaemonHost() != want {
		return nil, absent(fmt.Errorf("DOCKER_HOST=%s does not answer", want))
	}
	version, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return nil, absent(err)
	}
	e := &Engine{Version: strings.Split(version.Version, "+")[0], client: c, provider: provider}
	e.owner, err = self()
	return e, err
}

// newProvider turns the panic with which the library answers to a machine
// without any engine into an error.
func newProvider() (p *testcontainers.DockerProvider, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return testcontainers.NewDockerProvider(testcontainers.WithLogger(log.NewNoopLogger()),
		testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge))
}

// absent says what to do.
func absent(err error) *AbsentError {
	a := &AbsentError{Err: err, Fix: "install Docker and start it (sudo systemctl start docker), or set DOCKER_HOST to its socket"}
	if errors.Is(err, syscall.EACCES) || errdefs.IsPermissionDenied(err) ||
		strings.Contains(err.Error(), "permission denied") {
		a.Fix = "it does not permit you: sudo usermod -aG docker $USER, then log in again (that group is as good as root)"
	}
	return a
}
