// Package s3 has locks on an object store that knows conditional writes: PUT with If-None-Match
// and If-Match (https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
	"github.com/lockchaos/lockchaos/internal/endpoint/s3url"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Object is the control s3-object: a lock file as Terraform's backend has it (use_lockfile,
// https://developer.hashicorp.com/terraform/language/backend/s3). It excludes, and it never
// expires: what a dead holder leaves behind, somebody has to remove.
var Object = clients.Kind{
	Name: "s3-object", Service: "s3", Control: checker.StuckLock,
	About: "an object that is written where there is none, and deleted by its owner; it never expires",
	Claims: clients.Claims{Validity: "session", Token: "none", Confirms: []string{"release", "held"}, Permits: 1,
		NoExpiry: true},
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		o, err := open(c)
		if err != nil {
			return nil, err
		}
		return lease.New(&file{objects: o, left: map[string]bool{}}, c, lease.Grace(o.ttl)), nil
	},
}

// Lease is the lock s3-lease.
var Lease = watched("s3-lease", "an object with an owner and a fencing number, which whoever has seen it unchanged for the TTL may take over; each write is on condition of the ETag", "", false)

// BrokenDelete is the control broken-s3-delete: s3-lease that is given back by
// a DELETE, which can't be made conditional everywhere, and looks at nothing.
var BrokenDelete = watched("broken-s3-delete", "s3-lease that is given back by deleting the object, whose ever it is",
	checker.StolenRelease, true)

func watched(called, about, control string, blind bool) clients.Kind {
	k := clients.Kind{Name: called, About: about, Service: "s3", Control: control}
	k = lease.WatchedKind(k, open, func(o *objects, c clients.Config) lease.Medium {
		m := lease.Watched(o, c)
		if blind {
			return blindly{m, o}
		}
		return m
	})
	if blind {
		k.Claims.Token, k.Claims.Confirms = "none", []string{"renew", "held"}
	}
	return k
}

// objects are records in a bucket, an object each.
type objects struct {
	store *s3url.Store
	ttl   time.Duration
}

func open(c clients.Config) (*objects, error) {
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a lock on one object store was given %d addresses; configure exactly one", len(c.Nodes))
	}
	// Requests are made once: what becomes of one that was not answered, the lock decides.
	store, err := s3url.Open(c.Nodes[0], s3url.Account{Key: logins.S3Key, Secret: logins.S3Secret, Bucket: logins.S3Bucket}, nil)
	if err != nil {
		return nil, fmt.Errorf("object store: %w", err)
	}
	return &objects{store: store, ttl: c.TTL}, nil
}

func (o *objects) String() string { return "object store at " + o.store.At }

// Close closes the connections.
func (o *objects) Close() error { return o.store.Close() }

// absent reports whether an answer says that there is no such object.
func absent(err error) bool { return minio.ToErrorResponse(err).StatusCode == http.StatusNotFound }

// outcome is what is known after a write: that the condition did not hold, that
// nothing was sent or taken, or nothing.
func outcome(err error) error {
	var answered minio.ErrorResponse
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered) && (answered.StatusCode == http.StatusPreconditionFailed ||
		answered.StatusCode == http.StatusConflict || answered.StatusCode == http.StatusNotFound):
		// 409: another write came between; 404: what was to be replaced is gone
		return clients.ErrNotHeld
	case errors.As(err, &answered) && answered.StatusCode >= 400 && answered.StatusCode < 500, errors.As(err, &op) &&
		op.Op == "dial":
		return err
	}
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}

// Read reads an object. Its version is the ETag, a sum of what is in it.
func (o *objects) Read(ctx context.Context, key string) (r lease.Record, version string, err error) {
	body, info, _, err := o.store.GetObject(ctx, o.store.Bucket, key, minio.GetObjectOptions{})
	if absent(err) {
		return r, "", nil
	}
	if err != nil {
		return r, "", err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, 1<<16)).Decode(&r); err != nil {
		return r, "", fmt.Errorf("object %s: %w", key, err)
	}
	return r, info.ETag, nil
}

// Write writes an object on condition of its ETag, or that there is none.
func (o *objects) Write(ctx context.Context, key string, r lease.Record, version string) error {
	var options minio.PutObjectOptions
	if version == "" {
		options.SetMatchETagExcept("*")
	} else {
		options.SetMatchETag(version)
	}
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = o.store.PutObject(ctx, o.store.Bucket, key, bytes.NewReader(content), int64(len(content)), "", "", options)
	return outcome(err)
}

func (o *objects) remove(ctx context.Context, key string) error {
	return outcome(o.store.RemoveObject(ctx, o.store.Bucket, key, minio.RemoveObjectOptions{}))
}

// blindly gives back without a look.
type blindly struct {
	lease.Medium
	objects *objects
}

// Take has no number: it begins anew with each object.
func (b blindly) Take(ctx context.Context, key, owner string) (int64, error) {
	_, err := b.Medium.Take(ctx, key, owner)
	return 0, err
}

func (b blindly) Give(ctx context.Context, key, _ string, _ int64) error {
	return b.objects.remove(ctx, key)
}

// file is a lock that is an object which is there or not.
type file struct {
	*objects
	mu   sync.Mutex
	left map[string]bool // owners whose write was not answered: the object may be theirs
}

// Take writes the object where there is none, or over one that an earlier try of ours has left.
func (f *file) Take(ctx context.Context, key, owner string) (int64, error) {
	err := f.Write(ctx, key, lease.Record{Owner: owner}, "")
	if errors.Is(err, clients.ErrNotHeld) {
		if r, version, readErr := f.Read(ctx, key); readErr == nil && f.ours(r.Owner) {
			err = f.Write(ctx, key, lease.Record{Owner: owner}, version)
		}
	}
	if errors.Is(err, clients.ErrOpen) {
		f.mu.Lock()
		f.left[owner] = true
		f.mu.Unlock()
	}
	return 0, err
}

func (f *file) ours(owner string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left[owner]
}

// Held looks whose object it is.
func (f *file) Held(ctx context.Context, key, owner string, _ int64) error {
	r, version, err := f.Read(ctx, key)
	if err == nil && (version == "" || r.Owner != owner) {
		err = clients.ErrNotHeld
	}
	return err
}

// Renew does nothing: the object stays.
func (f *file) Renew(context.Context, string, string, int64) error { return clients.ErrUnsupported }

// Give deletes the object after a look. Nobody else can write it between the
// two, for it never expires.
func (f *file) Give(ctx context.Context, key, owner string, token int64) error {
	if err := f.Held(ctx, key, owner, token); err != nil {
		return err
	}
	return f.remove(ctx, key)
}
