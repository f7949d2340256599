//go:build linux

package clockskew

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// now reads the true clocks as the target would, by system call: our own may be
// skewed, too. A target in another time namespace has other monotonic clocks.
func (t *Target) now() (r readings, err error) {
	for id := range classOf {
		from := id
		switch id { // an alarm clock shows what its plain one does, but cannot be read without an alarm device
		case unix.CLOCK_REALTIME_ALARM:
			from = unix.CLOCK_REALTIME
		case unix.CLOCK_BOOTTIME_ALARM:
			from = unix.CLOCK_BOOTTIME
		}
		var ts unix.Timespec
		if err := unix.ClockGettime(int32(from), &ts); err != nil {
			return r, fmt.Errorf("clock_gettime(%d): %w", from, err)
		}
		r[id] = ts.Nano()
		if classOf[id] == mono {
			r[id] += t.timens[from == unix.CLOCK_BOOTTIME]
		}
	}
	return r, nil
}

// timeNamespace returns how far the monotonic clocks of a process are ahead of ours
// by its time namespace: of CLOCK_BOOTTIME under true, of the others under false.
func timeNamespace(dir procDir) (map[bool]int64, error) {
	own := procDir{fd: unix.AT_FDCWD, prefix: "/proc/self/"}
	ours, err := own.link("ns/time")
	if err != nil {
		return nil, nil // a kernel without time namespaces
	}
	theirs, err := dir.link("ns/time")
	if err != nil {
		return nil, err
	}
	if theirs == ours {
		return nil, nil
	}
	offsets := map[bool]int64{}
	for sign, d := range map[int64]procDir{1: dir, -1: own} {
		// The file tells of the namespace that children get.
		here, err := d.link("ns/time")
		if err != nil {
			return nil, err
		}
		if children, err := d.link("ns/time_for_children"); err != nil || children != here {
			return nil, fmt.Errorf("%w: its time namespace is not that of its children (%v)", ErrUnsupported, err)
		}
		text, err := d.read("timens_offsets")
		if err != nil {
			return nil, err
		}
		for l := range strings.Lines(string(text)) {
			var name string
			var sec, nsec int64
			if _, err := fmt.Sscan(l, &name, &sec, &nsec); err != nil {
				return nil, fmt.Errorf("timens_offsets: %q: %w", l, err)
			}
			offsets[name == "boottime"] += sign * (sec*1e9 + nsec)
		}
	}
	return offsets, nil
}
