package clients_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

func TestClaimsForTTL(t *testing.T) {
	claims := clients.Claims{Validity: "session", Token: "fencing", Permits: 1}
	silent := clients.Kind{Claims: claims}
	if c := silent.ClaimsFor(time.Second); c.LostGrace != 0 || c.Validity != "session" || c.Permits != 1 {
		t.Errorf("without a grace: %+v", c)
	}
	told := clients.Kind{Claims: claims, LostGrace: func(ttl time.Duration) time.Duration { return ttl / 2 }}
	for ttl, grace := range map[time.Duration]time.Duration{time.Second: 500 * time.Millisecond, 10 * time.Second: 5 * time.Second} {
		if c := told.ClaimsFor(ttl); c.LostGrace != int64(grace) || c.Token != "fencing" {
			t.Errorf("TTL %v: %+v", ttl, c)
		}
	}
	if told.Claims.LostGrace != 0 {
		t.Error("the kind's own claims were changed")
	}
}
