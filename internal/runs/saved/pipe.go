//go:build linux

package saved

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what an ordinary user may have (/proc/sys/fs/pipe-max-size).
const pipeSize = 1 << 20

// growPipe makes room in a pipe, so that the program before it goes on while we
// judge. Where that is refused, or it is no pipe, it stays as it is.
func growPipe(in io.Reader) {
	f, ok := in.(*os.File)
	if !ok {
		return
	}
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
