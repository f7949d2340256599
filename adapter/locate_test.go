package adapter

import (
	"encoding/json"
	"slices"
	"testing"
)

// A hello tells where the service is in every form: to programs that know host and port alone, to
// those that read URLs, and to our own, which make the same addresses of it again.
func TestLocate(t *testing.T) {
	addresses := []string{"rediss://me:p%40ss@a.test:6380/2?cacert=%2Fca.pem", "rediss://me:p%40ss@b.test:6380/2?cacert=%2Fca.pem"}
	var g Greeting
	if err := g.Locate(addresses); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"protocol":0,"service":"","nodes":["a.test:6380","b.test:6380"],` +
		`"urls":["rediss://me:p%40ss@a.test:6380/2","rediss://me:p%40ss@b.test:6380/2"],` +
		`"tls":{"cacert":"/ca.pem","cert":"","key":""},"account":{"user":"me","password":"p@ss","database":"2"},` +
		`"ttl_ms":0,"client":"","seed":0}`
	if string(text) != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if again, err := g.Addresses(); err != nil || !slices.Equal(again, addresses) {
		t.Errorf("%q, %v", again, err)
	}
	plain := Greeting{Account: &Account{User: "known"}}
	if err := plain.Locate([]string{"10.88.0.2:6379"}); err != nil || plain.Account.User != "known" || plain.URLs != nil || plain.TLS != nil {
		t.Errorf("%+v, %v", plain, err)
	}
	if again, err := plain.Addresses(); err != nil || !slices.Equal(again, []string{"10.88.0.2:6379"}) {
		t.Errorf("%q, %v", again, err)
	}
}
