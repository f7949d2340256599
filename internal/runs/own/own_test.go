package own

import "testing"

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{"redis-py Lock 4.3.4": "redis-py-lock", "my-lock 0.1": "my-lock",
		"Curator v5.2.0-rc.1": "curator", "Über lock": "ber-lock", "7": "7",
		"...": "my-lock", "flock 2.38.1": "flock", "lock 2 of us": "lock-2-of-us"} {
		if got := slug(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
