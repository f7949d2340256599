package wire

import "syscall"

// GiveUp is no signal: there are no workers here.
const GiveUp = syscall.Signal(0)
