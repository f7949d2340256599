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

// A MariaDB with TLS and users is met as its address says, or the error says what to do.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	ca, strange := authority.New(t), authority.New(t)
	port := probetest.MariaDB(t, ca, "maria.test")
	good := endpoint.Files{CACert: ca.File}
	service, _ := probe.Lookup("mariadb")
	ctx, cancel := context.WithTimeout(t.Context(), decided.Limit)
	defer cancel()
	const way = "/locks?tls=true"
	at := parsed(t, "mysql://me:pass%2Fword@maria.test:"+port+way, good)
	for name, c := range map[string]struct {
		address string
		files   endpoint.Files
		want    string
	}{
		"as it should be":          {at.URL(), good, ""},
		"another authority":        {at.URL(), endpoint.Files{CACert: strange.File}, "--cacert FILE"},
		"another name":             {"mysql://me:pass%2Fword@other.test:" + port + way, good, "its certificate is for other names (maria.test)"},
		"a wrong password":         {"mysql://me:wrong@maria.test:" + port + way, good, "the user and the password belong into the address"},
		"without TLS":              {"mysql://me:pass%2Fword@maria.test:" + port + "/locks", endpoint.Files{}, "Access denied"},
		"not verified":             {"mysql://me:pass%2Fword@maria.test:" + port + "/locks?tls=skip-verify", good, "tls=skip-verify: want true"},
		"a missing right":          {"mysql://reader:pass%2Fword@maria.test:" + port + way, good, "reader may not do what locks need: CREATE command denied"},
		"a name that is not known": {"mysql://me:x@maria.invalid:" + port + way, good, "knows no host of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := service.Meet(ctx, parsed(t, c.address, c.files), here)
			if c.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "pass/word") {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	checkFacts(t, ctx, service, at, "version", "MariaDB", "role", "writable", "clock", "ms against", "persistence", "= 1", "limits", "GET_LOCK")
	checkRace(t, ctx, service, at, 2)
}
