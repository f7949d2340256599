// Package clockskew changes, from outside, the clocks that one running process reads. It changes
// wall clock and monotonic clock apart, by an offset and by a rate. The host's clocks, and all
// other processes, stay as they are.
//
// # How
//
// Programs read the time through the vDSO, a small library that the kernel maps into each process.
// The mapping is private, so a write to it through /proc/PID/mem gives that one process a copy of
// its own.
//
// Install stops the process. It puts our code (asm/skew_amd64.asm) into the unused tail of that
// mapping, and makes the vDSO's clock_gettime, gettimeofday and time jump there. That code asks the
// original for the true time, and adds the skew.
//
// The skew stands beside the code in two banks, one of which is in force. Set fills the other and
// switches with one write, without stopping the process. A reading that was under way starts again,
// so a reading is wholly of one setting.
//
// The target needs no preparation: no LD_PRELOAD, no restart. It may be static Go, C, Python or a
// JVM. For the JVM one thing more is done. HotSpot sleeps by pthread_cond_timedwait until an
// absolute time, which it computes from the skewed clock, and which the kernel measures on the true
// one. So the calls of that function through a module's global offset table lead to code that
// translates the deadline.
//
// # What is kept
//
//   - The monotonic clocks never go back. Set refuses it, Heal leaves what was gained, and Restore
//     refuses while the clock is ahead. Programs rely on a monotonic clock: otherwise each timer
//     and lease would hang for as long as the clock lost. Where the rate falls, the process is
//     stopped for the change, since a reading at the old rate might otherwise overtake one at the
//     new.
//   - Wall clocks may go anywhere; that is the fault.
//   - The code is written once in the life of a process. Restore only removes the jumps, for a
//     thread may still be inside.
//   - A thread is never caught on bytes that change. Install and Restore look at every thread's
//     program counter, and for one in the frames of signal handlers, and try again when there is
//     one.
//   - Each write leaves the process sound. If this program dies in the middle, it leaves the
//     process stopped at the worst; SIGCONT, then Open and Heal, mend it.
//   - A fork inherits code and skew, as a copy of its own. An exec loses both. Threads share them.
//
// # Stops
//
// Install and Restore stop the process for a few milliseconds, and Set does so only where the
// monotonic rate falls. Meanwhile no other process may wake it: a SIGCONT between the look at the
// threads and the write can crash it. A caller that pauses processes too (hosts.Pause) must exclude
// the two, or lend the package its own way to stop: see Target.StopWith and Held.
//
// # Where
//
// Linux on x86-64. The caller needs what ptrace needs: the same user and kernel.yama.ptrace_scope
// 0, or 1 and the target being its descendant, or CAP_SYS_PTRACE. Supported tries it on a child and
// says what is missing. docs/clock-faults.md says what is not reached.
package clockskew
