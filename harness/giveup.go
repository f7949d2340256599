//go:build !windows

package harness

import "syscall"

// giveUp tells a worker to give up the acquire that it is about.
const giveUp = syscall.SIGUSR1
