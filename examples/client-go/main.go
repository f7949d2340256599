// The leader election of k8s.io/client-go on a Lease of a Kubernetes API server, as an adapter of
// kind leader for lockchaos. It is one replica of a component.
//
//	(cd examples/client-go && go build -o ../../bin/client-go-leader .)
//	lockchaos exam --leader-cmd bin/client-go-leader --service kubernetes
//
// Its settings are those of the library's own example, with the proportions of the library's
// defaults: 15 s, 10 s and 2 s. docs/jobs.md tells what was found.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"example.com/golocks/protocol"
)

// replica is one candidate. A new elector stands for election after each term.
type replica struct {
	lease  resourcelock.Interface
	client string
	ttl    time.Duration
}

func open(h protocol.Hello) (protocol.Claims, func(), error) {
	// lockchaos's own API server: it signs its certificate itself, and knows this token. Without
	// limits of the client's own, as the clients of components have them.
	config := &rest.Config{Host: "https://" + h.Nodes[0], TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		BearerToken: "lockchaos-token", QPS: -1}
	r := &replica{client: h.Client, ttl: h.TTL}
	var err error
	// It limits the time of a request. Without that one that is not answered keeps a candidate from
	// all others for as long as the connection seems to be there.
	r.lease, err = resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, "default", "lockchaos-leader",
		resourcelock.ResourceLockConfig{Identity: h.Client + "_" + string(uuid.NewUUID())}, config, r.deadline())
	if err != nil {
		return nil, nil, err
	}
	return protocol.Claims{
		"name":     "client-go leaderelection " + protocol.Version("k8s.io/client-go"),
		"leader":   true,
		"validity": "session", // until OnStoppedLeading
		// RenewDeadline: "the duration that the acting master will retry refreshing leadership
		// before giving up", and one more try
		"lost_grace_ms": (r.deadline() + r.retry() + 300*time.Millisecond).Milliseconds(),
		"notices":       "alone",
		"identity":      "unique",
	}, r.run, nil
}

func (r *replica) deadline() time.Duration { return r.ttl * 2 / 3 }
func (r *replica) retry() time.Duration    { return r.ttl * 2 / 15 }

func (r *replica) run() {
	for {
		r.stand()
		// A component ends with its term, and is started again. That takes long enough for each of
		// the others to look at the Lease.
		time.Sleep(time.Duration((1 + leaderelection.JitterFactor) * float64(r.retry())))
	}
}

// stand takes part in the election until a term is over.
func (r *replica) stand() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	terms, over := make(chan *protocol.Execution, 1), false
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            r.lease,
		LeaseDuration:   r.ttl,
		RenewDeadline:   r.deadline(),
		RetryPeriod:     r.retry(),
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			// client-go starts it on a goroutine, and waits for its end only if told so
			OnStartedLeading: func(leading context.Context) {
				term := protocol.Begin(fmt.Sprintf("%s-%d", r.client, protocol.Now()), 0, 0)
				select {
				case <-term.Over():
					over = true
					cancel() // an orderly stop: the elector gives the Lease back
				case <-leading.Done():
				}
				terms <- term
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	elector.Run(ctx)
	switch term := <-terms; {
	case over:
		term.Done()
	default:
		term.Lost("it has stopped leading")
	}
}

func main() { protocol.Serve(open) }
