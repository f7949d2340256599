//go:build linux

package hosts

import "golang.org/x/sys/unix"

// Kernel returns the name and the release of the running kernel, such as "Linux
// 6.18"; "unknown" where it does not say.
func Kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
