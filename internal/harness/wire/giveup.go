//go:build !windows

package wire

import "syscall"

// GiveUp tells a worker to give up the acquire that it is about.
const GiveUp = syscall.SIGUSR1
