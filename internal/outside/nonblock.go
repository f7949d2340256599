//go:build !wasip1

package outside

import "syscall"

// nonblock opens a pipe at once, though nobody writes it.
const nonblock = syscall.O_NONBLOCK
