package audit

import "testing"

// Moments tell what they were made of.
func TestMoments(t *testing.T) {
	if m := endpointOf(-5, true, 1<<31-1, 1<<31-1, true); m.op() != 1<<31-1 || !m.answer() || m.at != -5 ||
		m.compare(endpointOf(-5, false, 1<<31-1, 1<<31-1, true)) < 0 {
		t.Errorf("%+v: op %d", m, m.op())
	}
}
