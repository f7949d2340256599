package backends_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// s3At prepares requests to the service.
func s3At(t *testing.T, s *backends.Service) *minio.Core {
	t.Helper()
	store, err := minio.NewCore(s.Addrs()[0],
		&minio.Options{Creds: credentials.NewStaticV4(logins.S3Key, logins.S3Secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestS3ConditionalWrites: of writers that race for one version of an object,
// one succeeds. Stores are known that look first and write later.
func TestS3ConditionalWrites(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "s3")
	store := s3At(t, backendstest.Start(t, "s3"))
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
				info, err := store.PutObject(backendstest.Limit(t), logins.S3Bucket, "raced", strings.NewReader(content),
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
