package probe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/probe"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
)

// An object store with TLS and keys is met as its address says, or the error says what to do.
func TestS3(t *testing.T) {
	ca, strange := authority.New(t), authority.New(t)
	port := probetest.S3(t, ca, "s3.test")
	good := endpoint.Files{CACert: ca.File}
	service, _ := probe.Lookup("versitygw")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	at := parsed(t, "https://me:pass%2Fword@s3.test:"+port+"/locks", good)
	for name, c := range map[string]struct {
		address string
		files   endpoint.Files
		want    string
	}{
		"as it should be":          {at.URL(), good, ""},
		"another authority":        {at.URL(), endpoint.Files{CACert: strange.File}, "--cacert FILE"},
		"another name":             {"https://me:pass%2Fword@other.test:" + port + "/locks", good, "its certificate is for other names (s3.test)"},
		"a wrong secret":           {"https://me:wrong@s3.test:" + port + "/locks", good, "the user and the password belong into the address"},
		"no bucket":                {"https://me:pass%2Fword@s3.test:" + port + "/nowhere", good, `it has no bucket "nowhere"`},
		"a name that is not known": {"https://me:x@s3.invalid:" + port + "/locks", good, "knows no host of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := service.Meet(ctx, parsed(t, c.address, c.files), here)
			if c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "pass/word") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	t.Run("keys of the environment", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "me")
		t.Setenv("AWS_SECRET_ACCESS_KEY", probetest.Secret)
		if err := service.Meet(ctx, parsed(t, "https://s3.test:"+port+"/locks", good), here); err != nil {
			t.Error(err)
		}
	})
	checkFacts(t, ctx, service, at, "bucket", "locks", "eviction", "lifecycle")
	checkRace(t, ctx, service, at, 2)
}
