package reports

import "testing"

// TestAdapterFailed: the short text beside a failure has room for what the
// adapter did, not for who it was.
func TestAdapterFailed(t *testing.T) {
	for failed, want := range map[string]string{
		`client 3 on host client-3: the adapter "sh -c \"x y\"" answers request 3 twice`: "adapter answers request 3 twice",
		`client 1 on host client-1: open adapter: the adapter "x" ended (exit status 1)`: "adapter ended (exit status 1)",
		`the adapter "x" has not answered hello`:                                         "adapter has not answered hello",
		"client 3 on host client-3: no reply":                                            "client 3 on host client-3: no reply",
	} {
		if got := (Scenario{Failed: failed}).Detail(); got != want {
			t.Errorf("%s: %q, want %q", failed, got, want)
		}
	}
}
