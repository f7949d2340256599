// Package kubernetes has locks on Lease objects of a Kubernetes API server
// (https://kubernetes.io/docs/concepts/architecture/leases/): client-go's leader election, and a lease
// by compare-and-swap.
//
// Nothing at the server ends a Lease. Whoever waits for one must have seen it unchanged for its whole
// duration, by his own clock, before he may take it over; each write is on condition of the
// resourceVersion.
package kubernetes

import (
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/lease"
)

// The token is that of package backends, which lets it do anything.
const (
	token     = "lockchaos-token"
	namespace = "default"
)

// server is a client's connection to an API server.
type server struct {
	leases    coordination.LeasesGetter
	transport *http.Transport
	addr      string
	ttl       time.Duration
}

// quiet keeps client-go from writing its log: what matters of it, the errors of the locks say.
var quiet = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// connect makes the client of an API server. It connects with the first call.
func connect(c clients.Config) (*server, error) {
	quiet()
	ttl := time.Duration(c.TTL)
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a lock on a Kubernetes API server was given %d addresses; configure exactly one", len(c.Nodes))
	}
	if ttl < time.Second || ttl%time.Second != 0 {
		return nil, fmt.Errorf("Kubernetes at %s: a TTL of %v; a Lease says its duration in whole seconds, configure one or more", c.Nodes[0], ttl)
	}
	// Over HTTP/1.1 a request that is given up takes its connection with it: the next need not wait for TCP to notice that a link is up again.
	s := &server{addr: c.Nodes[0], ttl: ttl, transport: &http.Transport{MaxIdleConnsPerHost: 4, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	config := &rest.Config{Host: "https://" + s.addr, BearerToken: token, QPS: -1}
	wrapped, err := rest.HTTPWrappersForConfig(config, s.transport)
	if err == nil {
		s.leases, err = coordination.NewForConfigAndClient(config, &http.Client{Transport: wrapped, Timeout: s.patience()})
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	return s, nil
}

func (s *server) String() string { return "Kubernetes at " + s.addr }

// The timing of client-go's leader election, in the proportions of Kubernetes' own components: 15 s, 10 s and 2 s
// (https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/).
func (s *server) renewDeadline() time.Duration { return s.ttl * 10 / 15 }
func (s *server) retryPeriod() time.Duration   { return s.ttl * 2 / 15 }

// patience is for how long an answer is waited for: client-go's NewFromKubeconfig has half the renew deadline, too.
func (s *server) patience() time.Duration { return s.renewDeadline() / 2 }

// grace is for how long a write in progress is waited for when it is given up.
func (s *server) grace() time.Duration { return min(s.ttl/5, 100*time.Millisecond) }

// Close closes the connections.
func (s *server) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// object is the name of a key's Lease: names of objects are lower-case letters, digits, dots and dashes.
func object(key string) string { return "lockchaos-" + hex.EncodeToString([]byte(key)) }

// onWire is what a request looks like in packets, whatever key it is for: a record of TLS with data of an application
// (RFC 8446, 5.1). All else is encrypted.
func onWire(string) string { return "\x17\x03\x03" }

// outcome is what is known after a write: that the condition did not hold, that nothing was sent or taken, or nothing.
func outcome(err error) error {
	var answered apierrors.APIStatus
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", clients.ErrNotHeld, err)
	case errors.As(err, &answered) && answered.Status().Code < http.StatusInternalServerError, errors.As(err, &op) && op.Op == "dial":
		return err
	}
	return fmt.Errorf("%w: %w", lease.ErrOpen, err)
}
