package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

// Record is what a register keeps of a key that leases are taken on.
type Record struct {
	// Owner has the lease; "": nobody has, it was given back.
	Owner string `json:"owner"`
	// Fence rises with every owner.
	Fence int64 `json:"fence"`
	// TTL is for how long others must have seen this version of the record
	// before they may take it over, in ns.
	TTL time.Duration `json:"ttl_ns"`
	// Renewals counts those of this owner: a version that is a sum of the content must change, too.
	Renewals int64 `json:"renewals"`
}

// Register keeps a record a key, and a version that changes whenever the record
// is written. It has no clock: nothing in it expires.
type Register interface {
	// Read returns the newest record, and its version; "": there is none. A
	// register that may answer with an older one is none.
	Read(ctx context.Context, key string) (r Record, version string, err error)
	// Write writes the record if the newest has this version. Its errors are those of a Medium:
	// clients.ErrNotHeld where it has another, clients.ErrOpen where it may have written.
	Write(ctx context.Context, key string, r Record, version string) error
	// Close gives the connections up.
	Close() error
	fmt.Stringer
}

// Watched makes leases of a register, by the clocks of those who wait: who has
// seen the same version for a TTL takes the record over, on condition that it
// still has that version. Kubernetes' leader election and the lock clients of
// DynamoDB do so (https://pkg.go.dev/k8s.io/client-go/tools/leaderelection;
// https://aws.amazon.com/blogs/database/building-distributed-locks-with-the-dynamodb-lock-client/).
// The holder wrote before anybody saw it, so its lease, from the start of its
// request on, is over by then, if nobody's clock runs too fast or too slow.
func Watched(r Register, c clients.Config) Medium {
	return &watched{Register: r, ttl: c.TTL}
}

// WatchedKind completes a kind of lock whose leases are those of a register: its claims, and how it
// is opened. open connects to the register; medium makes leases of it, which is Watched for all but
// the controls.
func WatchedKind[R Register](k clients.Kind, open func(clients.Config) (R, error),
	medium func(R, clients.Config) Medium) clients.Kind {
	k.Claims = clients.Claims{Validity: "from_invocation", Token: "fencing",
		Confirms: []string{"renew", "release", "held"}, Permits: 1}
	k.Open = func(_ context.Context, c clients.Config) (clients.Lock, error) {
		r, err := open(c)
		if err != nil {
			return nil, err
		}
		return New(medium(r, c), c, Grace(c.TTL)), nil
	}
	return k
}

// Grace is for how long a lock on a register waits for the last answer, by its TTL.
func Grace(ttl time.Duration) time.Duration { return min(ttl/5, 100*time.Millisecond) }

type watched struct {
	Register
	ttl  time.Duration
	seen Sightings
}

// Sightings are the versions of records that a client has seen, and since when. The zero value has
// seen none. Safe for concurrent use.
type Sightings struct {
	mu   sync.Mutex
	seen map[string]sighting
}

// sighting is since when a key has been seen with this version.
type sighting struct {
	version string
	since   time.Time
}

// Lasts reports whether a record that was just read, with a version and an owner, may be a lease of
// another: it is not free, and was not seen unchanged for its TTL.
func (w *Sightings) Lasts(key, version, owner string, ttl time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if version == "" || owner == "" {
		delete(w.seen, key)
		return false
	}
	if seen := w.seen[key]; seen.version == version {
		return time.Since(seen.since) < ttl
	}
	if w.seen == nil {
		w.seen = map[string]sighting{}
	}
	w.seen[key] = sighting{version, time.Now()}
	return true
}

// Take takes the record where there is none, where it was given back, or where
// nobody has renewed it for its TTL.
func (w *watched) Take(ctx context.Context, key, owner string) (fence int64, err error) {
	r, version, err := w.Read(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("look at the record: %w", err) // nothing was written
	}
	if w.seen.Lasts(key, version, r.Owner, r.TTL) {
		return 0, clients.ErrNotHeld
	}
	return r.Fence + 1, w.Write(ctx, key, Record{Owner: owner, Fence: r.Fence + 1, TTL: w.ttl}, version)
}

// own reads the owner's record.
func (w *watched) own(ctx context.Context, key, owner string) (Record, string, error) {
	r, version, err := w.Read(ctx, key)
	switch {
	case err != nil:
		return r, "", fmt.Errorf("look at the record: %w", err)
	case version == "" || r.Owner != owner:
		return r, "", clients.ErrNotHeld
	}
	return r, version, nil
}

// Renew writes the record again, so that others see a new version.
func (w *watched) Renew(ctx context.Context, key, owner string, _ int64) error {
	r, version, err := w.own(ctx, key, owner)
	if err != nil {
		return err
	}
	r.TTL = w.ttl
	r.Renewals++
	return w.Write(ctx, key, r, version)
}

// Give writes that nobody has the lease. The record stays, so that the fence never falls.
func (w *watched) Give(ctx context.Context, key, owner string, _ int64) error {
	r, version, err := w.own(ctx, key, owner)
	if err != nil {
		return err
	}
	return w.Write(ctx, key, Record{Fence: r.Fence, Renewals: r.Renewals + 1}, version)
}

// Held looks whether the record is the owner's: then nobody else has had it since.
func (w *watched) Held(ctx context.Context, key, owner string, _ int64) error {
	_, _, err := w.own(ctx, key, owner)
	return err
}
