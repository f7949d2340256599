//go:build linux

package hosts_test

import (
	"os/exec"
	"testing"
)

// Who starts one program after the other is stopped, too, at whatever moment: also while it
// waits in the kernel, where no signal reaches it, for a child that is stopped between vfork
// and its program. What stops such a shell without an end would fail within some of these.
func TestStopOfWhoStartsPrograms(t *testing.T) {
	if !inside(t) {
		return
	}
	_, made := network(t, "shell")
	h := made[0]
	if _, err := h.Start(exec.Command("sh", "-c", "while :; do /bin/true; done")); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		p, err := h.Stop(within(t))
		if err == nil {
			err = p.Resume() // it tells if one ran meanwhile
		}
		if err != nil {
			t.Fatalf("stop %d: %v", i, err)
		}
	}
}
