// Package clockskew changes the clocks that one running process reads, from outside: wall clock and monotonic clock apart, by an offset
// and by a rate. The host's clocks, and all other processes, stay as they are.
//
// # How
//
// Programs read the time through the vDSO, a small library that the kernel maps into each process. The mapping is private, so a write
// to it through /proc/PID/mem gives that one process a copy of its own. Install stops the process, puts our code (asm/skew_amd64.asm)
// into the unused tail of that mapping, and makes the vDSO's clock_gettime, gettimeofday and time jump there. That code asks the original
// for the true time and adds the skew. The skew stands beside the code in two banks, one of which is in force: Set fills the other and
// switches with one write, without stopping the process; a reading that was under way starts again. So a reading is wholly of one setting.
//
// The target needs no preparation: no LD_PRELOAD, no restart. It may be static Go, C, Python or a JVM. For the JVM one thing more
// is done: HotSpot sleeps by pthread_cond_timedwait until an absolute time, which it computes from the skewed clock and the kernel measures
// on the true one; so the calls of that function through a module's global offset table lead to code that translates the deadline.
//
// # What is kept
//
//   - The monotonic clocks never go back. Set refuses it, Heal leaves what was gained, and Restore refuses while the clock is ahead: programs
//     take a monotonic clock at its word, and each timer and lease would hang for as long as the clock lost. Where the rate falls, the process
//     is stopped for the change, since a reading at the old rate might otherwise overtake one at the new.
//   - Wall clocks may go anywhere; that is the fault.
//   - The code is written once in the life of a process. Restore only takes the jumps away, for a thread may still be inside.
//   - A thread is never caught on bytes that change: Install and Restore look at every thread's program counter, and for one in the
//     frames of signal handlers, and try again when there is one.
//   - Each write leaves the process sound. Who dies in the middle leaves it stopped at the worst: SIGCONT, then Open and Heal, mend it.
//   - A fork inherits code and skew, as a copy of its own. An exec loses both. Threads share them.
//
// # Stops
//
// Install and Restore stop the process, Set only where the monotonic rate falls: a few milliseconds. While they do nobody else may wake it:
// a SIGCONT between the look at the threads and the write can crash it. Who pauses processes too (hosts.Pause) must exclude the two, or
// lend the package its own way to stop: see Target.StopWith and Held.
//
// # Where
//
// Linux on x86-64. The caller needs what ptrace needs: the same user and kernel.yama.ptrace_scope 0, or 1 and the target being its
// descendant, or CAP_SYS_PTRACE. Supported tries it on a child and says what is missing. docs/clock-faults.md tells what is not reached.
package clockskew
