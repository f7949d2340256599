package backends_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/s3"
	"github.com/lockchaos/lockchaos/internal/backends"
)

// needS3 skips a test that needs the object store, where there is none.
func needS3(t testing.TB) { needService(t, "s3") }

// s3At prepares requests to the service.
func s3At(t *testing.T, s *backends.Service) *minio.Core {
	t.Helper()
	store, err := minio.NewCore(s.Addrs()[0],
		&minio.Options{Creds: credentials.NewStaticV4(backends.S3Key, backends.S3Secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestS3Conformance(t *testing.T) {
	t.Parallel()
	needS3(t)
	conform(t, "s3", time.Second, clienttest.Run, s3.Lease)
}

// TestS3Controls: an object stays for ever where its owner can't delete it; an
// owner who does not look deletes another's.
func TestS3Controls(t *testing.T) {
	t.Parallel()
	needS3(t)
	for _, c := range []struct {
		kind   clients.Kind
		caught []string
	}{
		{s3.Object, []string{aKilledHolder, aFrozenHolder, "a frozen service", "close gives"}},
		{s3.BrokenDelete, []string{"a stale grant", aFrozenHolder}},
	} {
		conform(t, "s3", time.Second, func(t *testing.T, kind clients.Kind, s clienttest.Service) {
			clienttest.RunControl(t, kind, s, c.caught, nil)
		}, c.kind)
	}
}

// TestS3ConditionalWrites: of writers that race for one version of an object,
// one succeeds. Stores are known that look first and write later.
func TestS3ConditionalWrites(t *testing.T) {
	t.Parallel()
	needS3(t)
	store := s3At(t, start(t, "s3"))
	const rounds, writers = 40, 8
	for etag, round := "", 0; round < rounds; round++ {
		var options minio.PutObjectOptions
		if etag == "" {
			options.SetMatchETagExcept("*")
		} else {
			options.SetMatchETag(etag)
		}
		var all sync.WaitGroup
		var written atomic.Int64
		var next atomic.Value
		for i := range writers {
			all.Go(func() {
				content := strings.Repeat("x", i+1) + strings.Repeat("y", round)
				info, err := store.PutObject(limit(t), backends.S3Bucket, "raced", strings.NewReader(content),
					int64(len(content)), "", "", options)
				switch code := minio.ToErrorResponse(err).StatusCode; {
				case err == nil:
					written.Add(1)
					next.Store(info.ETag)
				case code != http.StatusPreconditionFailed && code != http.StatusConflict:
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		if n := written.Load(); n != 1 {
			t.Fatalf("round %d: %d of %d writers for one version succeeded", round, n, writers)
		}
		etag = next.Load().(string)
	}
}
