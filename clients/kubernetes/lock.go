// Package kubernetes has locks on Lease objects of a Kubernetes API server
// (https://kubernetes.io/docs/concepts/architecture/leases/), by the scheme of
// client-go's leader election: each write is on condition of the object's
// resourceVersion, and a client that has seen a Lease unchanged for its whole
// duration, by its own clock, may take it over. Nothing at the server ends one.
//
// It speaks the API's JSON by itself. client-go's leaderelection brings every
// type of every API of Kubernetes along, which made lockchaos larger by a
// third; the library itself is examined in the survey.
package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Lease is the lock kubernetes-lease. Its token is leaseTransitions, which
// counts the changes of the holder.
var Lease = kind("kubernetes-lease", "a Lease of Kubernetes, written on condition of its resourceVersion, which whoever has seen it unchanged for the TTL may take over, as in client-go's leader election", "", false)

// BrokenRelease is the control broken-kubernetes-release: kubernetes-lease that is
// given back as client-go's leader election does it since v0.34 (with ReleaseOnCancel).
// It reads the Lease and writes, on condition of the version that it has just read,
// that nobody holds it. Whether it is the leader, it asks of its memory alone. So a
// leader that was frozen for longer than its lease ends the lease of the next one.
var BrokenRelease = kind("broken-kubernetes-release",
	"kubernetes-lease that is given back as client-go's elector does it since v0.34: it reads the Lease and frees it, whose ever it is by then", checker.StolenRelease, true)

func kind(called, about, control string, blind bool) clients.Kind {
	k := clients.Kind{Name: called, About: about, Service: "kubernetes", Control: control, OnWire: onWire}
	k = lease.WatchedKind(k, open, func(o *objects, c clients.Config) lease.Medium {
		m := lease.Watched(o, c)
		if blind {
			return blindly{m, o}
		}
		return m
	})
	if blind {
		k.Claims.Confirms = []string{"renew", "held"}
	}
	return k
}

// objects are records, a Lease each.
type objects struct {
	http      *http.Client
	transport *http.Transport
	addr      string
	ttl       time.Duration
}

func open(c clients.Config) (*objects, error) {
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a lock on a Kubernetes API server was given %d addresses; configure exactly one",
			len(c.Nodes))
	}
	o := &objects{addr: c.Nodes[0], ttl: c.TTL}
	if o.ttl < time.Second || o.ttl%time.Second != 0 {
		return nil, fmt.Errorf("%v: a TTL of %v; a Lease says its duration in whole seconds, configure one or more", o,
			o.ttl)
	}
	// The server signs its certificate itself. Over HTTP/1.1 a request that is given up takes its
	// connection with it, so the next one need not wait for TCP to notice that a link is up again.
	o.transport = &http.Transport{MaxIdleConnsPerHost: 4, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	o.http = &http.Client{Transport: o.transport}
	return o, nil
}

func (o *objects) String() string { return "Kubernetes at " + o.addr }

// Close closes the connections.
func (o *objects) Close() error {
	o.transport.CloseIdleConnections()
	return nil
}

// onWire is what a request looks like in packets, whatever key it is for: a record
// of TLS with data of an application (RFC 8446, 5.1). All else is encrypted.
func onWire(string) string { return "\x17\x03\x03" }

// object is a Lease
// (https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/).
type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Annotations are of a scheduler's Lease alone.
	Annotations map[string]string `json:"annotations,omitempty"`
}

type spec struct {
	HolderIdentity       string `json:"holderIdentity"`
	LeaseDurationSeconds int64  `json:"leaseDurationSeconds"`
	LeaseTransitions     int64  `json:"leaseTransitions"`
	RenewTime            string `json:"renewTime"`
}

// collection is where the Leases are.
const collection = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

// name is the name of a key's Lease. Names of objects are lower-case letters,
// digits, dots and dashes.
func name(key string) string { return "lockchaos-" + hex.EncodeToString([]byte(key)) }

// status is the answer of an API server that did not do what it was asked for.
type status int

func (s status) Error() string { return fmt.Sprintf("it answers with status %d", int(s)) }

// ask makes one request. A status beyond 299 is an error of type status.
func (o *objects) ask(ctx context.Context, method, path string, body any) (answer object, err error) {
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return answer, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+o.addr+path, bytes.NewReader(content))
	if err != nil {
		return answer, err
	}
	request.Header.Set("Authorization", "Bearer "+logins.KubernetesToken)
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	// What would let net/http send the request a second time by itself is taken
	// away: what becomes of one that was not answered, the lock decides.
	request.GetBody = nil
	reply, err := o.http.Do(request)
	if err != nil {
		return answer, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	switch {
	case reply.StatusCode > 299:
		return answer, status(reply.StatusCode)
	case err == nil:
		err = json.Unmarshal(text, &answer)
	}
	return answer, err
}

// Read reads a Lease. Where no resourceVersion is given to begin from, the API server asks a
// quorum of etcd (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).
func (o *objects) Read(ctx context.Context, key string) (r lease.Record, version string, err error) {
	l, err := o.ask(ctx, http.MethodGet, collection+"/"+name(key), nil)
	if answered, _ := errors.AsType[status](err); answered == http.StatusNotFound {
		return r, "", nil
	}
	if err != nil {
		return r, "", err
	}
	r = lease.Record{Owner: l.Spec.HolderIdentity, Fence: l.Spec.LeaseTransitions,
		TTL: time.Duration(l.Spec.LeaseDurationSeconds) * time.Second}
	return r, l.Metadata.ResourceVersion, nil
}

// Write writes a Lease on condition of its resourceVersion, or that there is none.
// The server leaves an object as it is that would not change: renewTime does.
func (o *objects) Write(ctx context.Context, key string, r lease.Record, version string) error {
	return o.put(ctx, object{Metadata: metadata{Name: name(key), ResourceVersion: version},
		Spec: spec{HolderIdentity: r.Owner, LeaseTransitions: r.Fence, LeaseDurationSeconds: seconds(r.TTL), RenewTime: now()}})
}

// put writes a Lease on condition of its resourceVersion, or makes it.
func (o *objects) put(ctx context.Context, l object) error {
	l.APIVersion, l.Kind = "coordination.k8s.io/v1", "Lease"
	method, path := http.MethodPost, collection
	if l.Metadata.ResourceVersion != "" {
		method, path = http.MethodPut, collection+"/"+l.Metadata.Name
	}
	_, err := o.ask(ctx, method, path, l)
	return outcome(err)
}

// seconds is a duration as a Lease says it, and now the present time.
func seconds(d time.Duration) int64 { return max(1, int64(d/time.Second)) }
func now() string                   { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }

// outcome is what is known after a write: that the condition did not hold, that
// nothing was sent or taken, or nothing.
func outcome(err error) error {
	answered, _ := errors.AsType[status](err)
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case answered == http.StatusConflict, answered == http.StatusNotFound: // another write came between, or what was to be replaced is gone
		return fmt.Errorf("%w: %w", clients.ErrNotHeld, err)
	case answered >= 400 && answered < 500, errors.As(err, &op) && op.Op == "dial":
		return err
	}
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}

// blindly gives back what it has just read.
type blindly struct {
	lease.Medium
	objects *objects
}

// Give looks at the version of the Lease, and not at its holder.
func (b blindly) Give(ctx context.Context, key, _ string, _ int64) error {
	r, version, err := b.objects.Read(ctx, key)
	if err != nil {
		return err
	}
	return b.objects.Write(ctx, key, lease.Record{Fence: r.Fence}, version)
}
