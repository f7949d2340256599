package backends_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// gateway asks a member in JSON over HTTP, as clients without gRPC do.
func gateway(t *testing.T, addr, method, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(backendstest.Limit(t), http.MethodPost, "http://"+addr+"/v3/"+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	// through no proxy of the environment
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := direct.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", method, reply.Status)
	}
	if err := json.NewDecoder(reply.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// TestEtcdServesJSON: a lock of another language takes a key under a lease through one
// member's gateway, and sees it through another's. Once its lease is revoked there is no key.
func TestEtcdServesJSON(t *testing.T) {
	t.Parallel()
	s := backendstest.Start(t, "etcd")
	text := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	var lease struct{ ID string }
	gateway(t, s.Addrs()[0], "lease/grant", `{"TTL": 60}`, &lease)
	key := `"key": "` + text("over-json") + `"`
	put := `{"compare": [{` + key + `, "target": "CREATE", "create_revision": 0}], "success": [{"request_put": {` + key + `, "value": "` +
		text("mine") + `", "lease": "` + lease.ID + `"}}]}`
	for _, want := range []bool{true, false} {
		var taken struct{ Succeeded bool }
		if gateway(t, s.Addrs()[1], "kv/txn", put, &taken); taken.Succeeded != want {
			t.Errorf("taken: %t, want %t", taken.Succeeded, want)
		}
	}
	read := func() (values []string) {
		var found struct{ KVs []struct{ Value string } }
		gateway(t, s.Addrs()[2], "kv/range", "{"+key+"}", &found)
		for _, kv := range found.KVs {
			values = append(values, kv.Value)
		}
		return values
	}
	if got := read(); len(got) != 1 || got[0] != text("mine") {
		t.Errorf("found %q", got)
	}
	gateway(t, s.Addrs()[0], "lease/revoke", `{"ID": "`+lease.ID+`"}`, &struct{}{})
	if got := read(); len(got) != 0 {
		t.Errorf("found %q after the lease was revoked", got)
	}
}
