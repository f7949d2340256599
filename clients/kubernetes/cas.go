package kubernetes

import (
	"context"
	"time"

	v1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/lease"
)

// LeaseCAS is the lock kubernetes-lease-cas.
var LeaseCAS = clients.Kind{
	Name:    "kubernetes-lease-cas",
	About:   "a Lease of Kubernetes that the application renews, each write on condition of its resourceVersion; whoever has seen it unchanged for the TTL may take it over",
	Service: "kubernetes",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "fencing", Confirms: []string{"renew", "release", "held"}, Permits: 1},
	OnWire:  onWire,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		s, err := connect(c)
		if err != nil {
			return nil, err
		}
		return lease.New(lease.Watched(objects{s}, c), c, s.grace()), nil
	},
}

// objects are records, a Lease each.
type objects struct{ *server }

// Read reads a Lease. Without a resourceVersion to begin from, the API server asks a quorum of etcd
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).
func (o objects) Read(ctx context.Context, key string) (r lease.Record, version string, err error) {
	l, err := o.leases.Leases(namespace).Get(ctx, object(key), meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return r, "", nil
	}
	if err != nil {
		return r, "", err
	}
	if l.Spec.HolderIdentity != nil {
		r.Owner = *l.Spec.HolderIdentity
	}
	if l.Spec.LeaseTransitions != nil {
		r.Fence = int64(*l.Spec.LeaseTransitions)
	}
	if l.Spec.LeaseDurationSeconds != nil {
		r.TTL = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	return r, l.ResourceVersion, nil
}

// Write writes a Lease on condition of its resourceVersion, or that there is none. The server leaves an object as it is that
// would not change: a renewal changes renewTime.
func (o objects) Write(ctx context.Context, key string, r lease.Record, version string) error {
	transitions, seconds, now := int32(r.Fence), max(1, int32(r.TTL/time.Second)), meta.NowMicro()
	l := &v1.Lease{
		ObjectMeta: meta.ObjectMeta{Name: object(key), Namespace: namespace, ResourceVersion: version},
		Spec:       v1.LeaseSpec{HolderIdentity: &r.Owner, LeaseTransitions: &transitions, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	var err error
	if version == "" {
		_, err = o.leases.Leases(namespace).Create(ctx, l, meta.CreateOptions{})
	} else {
		_, err = o.leases.Leases(namespace).Update(ctx, l, meta.UpdateOptions{})
	}
	return outcome(err)
}
