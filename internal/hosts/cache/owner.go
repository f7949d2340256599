//go:build !windows

package cache

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the number of the user to whom a file belongs, where the system tells.
func ownerOf(info fs.FileInfo) (user int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
