package main

import (
	"context"
	"strconv"
	"testing"

	api "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// server answers every write with the Lease that a test says, under the next resourceVersion.
type server struct {
	typed.LeasesGetter
	typed.LeaseInterface
	version int64
	uid     types.UID
}

func (s *server) Leases(string) typed.LeaseInterface { return s }

func (s *server) Update(_ context.Context, lease *api.Lease, _ meta.UpdateOptions) (*api.Lease, error) {
	s.version++
	got := lease.DeepCopy()
	got.UID, got.ResourceVersion = s.uid, strconv.FormatInt(s.version, 10)
	return got, nil
}

func (s *server) Create(ctx context.Context, lease *api.Lease, _ meta.CreateOptions) (*api.Lease, error) {
	return s.Update(ctx, lease, meta.UpdateOptions{})
}

// A renewal leaves the token, and every new term has a greater one, also in a new Lease.
func TestTokensRiseWithTerms(t *testing.T) {
	s := &server{version: 40}
	l := &leases{LeasesGetter: s}
	last := int64(0)
	for _, c := range []struct {
		what        string
		uid         types.UID
		transitions int32
		begin, anew bool
	}{
		{"the first write", "a", 7, true, true},
		{"a renewal", "a", 7, false, false},
		{"others led meanwhile", "a", 9, false, true},
		{"a renewal of that", "a", 9, false, false},
		{"another Lease with as many transitions", "b", 9, false, true},
		{"another Lease that begins at zero", "c", 0, false, true},
		{"another elector that finds its name", "c", 0, true, true},
	} {
		if c.begin {
			l.begin()
		}
		s.uid = c.uid
		lease := &api.Lease{Spec: api.LeaseSpec{LeaseTransitions: &c.transitions}}
		if _, err := l.Leases("shop").Update(t.Context(), lease, meta.UpdateOptions{}); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		token := l.grant().token
		if c.anew && token != s.version || !c.anew && token != last || token < last {
			t.Errorf("%s: token %d after %d, resourceVersion %d", c.what, token, last, s.version)
		}
		last = token
	}
}
