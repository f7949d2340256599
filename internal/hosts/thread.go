//go:build linux

package hosts

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// aside runs fn on a new goroutine that is locked to a thread other than the
// program's first. The thread ends with fn, whatever namespaces it entered: the
// runtime never uses a locked thread again.
//
// The first thread must stay as it is: /proc/PID/ns shows its namespaces as the whole program's
// (so we would find ourselves among a host's processes), and the runtime cannot end it.
func aside(fn func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			fn()
			return
		}
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread() // not the first thread: that one is taken
			close(locked)
			fn()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

// forker is the thread that forks sandboxes. It never ends, so a sandbox's
// parent-death signal means the death of the program and nothing else.
var forker = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	aside(func() {
		for job := range jobs {
			job()
		}
	})
	return jobs
})

// fork runs fn on the forker.
func fork(fn func() error) error {
	done := make(chan error, 1)
	forker() <- func() { done <- fn() }
	return <-done
}
