// What client-go's leader election does to a Lease, and to its leaseTransitions, without lockchaos:
//
//	go build -o ../../bin/client-go-repro ./repro && ../with-kubernetes.sh ../../bin/client-go-repro
//
// B waits while A leads. A freezes after the second renewal within a second,
// and B is elected less than LeaseDuration later.
//
// Leader A hears nothing of the API server for longer than its lease, as if it were
// frozen, and B is elected. Then A hears again and is cancelled: ReleaseOnCancel
// has it give B's lease back. It ends with status 1 if that happened.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	api "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	lease         = "repro"
	leaseDuration = 3 * time.Second
)

// candidate is one process of the field.
type candidate struct {
	name    string
	client  *kubernetes.Clientset
	frozen  atomic.Bool // its requests wait
	cancel  context.CancelFunc
	stopped chan struct{}
}

type link struct {
	*candidate
	next http.RoundTripper
}

func (l link) RoundTrip(r *http.Request) (*http.Response, error) {
	for l.frozen.Load() {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(time.Millisecond):
		}
	}
	return l.next.RoundTrip(r)
}

func newCandidate(addr, name string) *candidate {
	c := &candidate{name: name}
	config := &rest.Config{Host: "https://" + addr, TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		BearerToken: "lockchaos-token", QPS: -1}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return link{c, next} })
	var err error
	c.client, err = kubernetes.NewForConfig(config)
	check(err)
	return c
}

// run stands for election, and returns when it leads.
func (c *candidate) run() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel, c.stopped = cancel, make(chan struct{})
	leads := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: lease},
			Client:     c.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.name}},
		LeaseDuration: leaseDuration, RenewDeadline: 2 * time.Second, RetryPeriod: 400 * time.Millisecond,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leads) },
			OnStoppedLeading: func() { close(c.stopped) },
		},
	})
	check(err)
	go elector.Run(ctx)
	<-leads
	c.look("leads")
}

// end cancels the elector and waits until it says that it has stopped.
func (c *candidate) end() {
	c.cancel()
	<-c.stopped
	c.look("has released")
}

// get reads the Lease.
func (c *candidate) get() *api.Lease {
	l, err := c.client.CoordinationV1().Leases("default").Get(context.Background(), lease, metav1.GetOptions{})
	check(err)
	return l
}

// look says what the Lease is like.
func (c *candidate) look(what string) (holder string) {
	l := c.get()
	holder = *l.Spec.HolderIdentity
	fmt.Printf("%s %s: holder %q, leaseTransitions %d, leaseDurationSeconds %d, resourceVersion %s\n", c.name, what,
		holder,
		*l.Spec.LeaseTransitions, *l.Spec.LeaseDurationSeconds, l.ResourceVersion)
	return holder
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "repro:", err)
		os.Exit(2)
	}
}

// early has B wait while A leads, and freezes A late in a second in which it has renewed
// twice. B compares renewals by whole seconds, and so counts from the first of the two, if it
// has seen the Lease between them. It returns how long after A's last renewal B was elected.
func early(a, b *candidate) time.Duration {
	a.run()
	leads := make(chan struct{})
	go func() {
		defer close(leads)
		b.run()
	}()
	for began := time.Now(); time.Since(began) < 2*time.Second || b.get().Spec.RenewTime.Nanosecond() < 850e6; {
		time.Sleep(10 * time.Millisecond)
	}
	a.frozen.Store(true)
	time.Sleep(50 * time.Millisecond) // for the request in which it was
	renewed := b.get().Spec.RenewTime.Time
	<-leads
	waited := b.get().Spec.AcquireTime.Sub(renewed)
	fmt.Printf("B was elected %v after A had renewed, and LeaseDuration is %v\n", waited.Round(time.Millisecond),
		leaseDuration)
	b.end()
	a.frozen.Store(false)
	a.end()
	b.remove()
	return waited
}

// remove deletes the Lease.
func (c *candidate) remove() {
	check(c.client.CoordinationV1().Leases("default").Delete(context.Background(), lease, metav1.DeleteOptions{}))
	fmt.Println("somebody deletes the Lease")
}

func main() {
	addr := os.Args[len(os.Args)-1]
	a, b := newCandidate(addr, "A"), newCandidate(addr, "B")
	for try := 0; try < 5 && early(a, b) >= leaseDuration; try++ {
	}
	a.run()
	a.end()
	a.run() // the same again
	a.end()
	b.run()
	b.end()
	b.remove()
	b.run()
	b.end()

	a.run()
	a.frozen.Store(true)
	b.run()
	// A wakes up, and its application ends in the same moment.
	a.cancel()
	time.Sleep(100 * time.Millisecond) // for the request in which it was
	a.frozen.Store(false)
	<-a.stopped
	if b.look("looks, when A has released") != "B" {
		fmt.Println("A has given B's lease back: another candidate may lead now, beside B")
		os.Exit(1)
	}
}
