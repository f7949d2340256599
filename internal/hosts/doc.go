// Package hosts gives every process of a test a host of its own, on a private network, without
// root.
//
// # Why
//
// Faults must be real: a partition drops packets of a real connection, a pause stops every thread
// of a real process. So each client and each node lives on a host of its own. A host must be cheap
// (two milliseconds), must need no privilege, and must touch nothing of the user's own network. It
// must be gone when the program is, however the program ends. Linux namespaces give all of that.
//
// # How
//
// The program runs itself again, three deep:
//
//	outer     the command that the user started, in the user's own namespaces
//	└ init    PID 1 of new user, network, mount, PID, IPC and UTS namespaces; mounts, reaps orphans
//	  └ inner the same program once more: it makes hosts, starts processes on them, injects faults
//
// Outer calls [Sandbox.Start]. main calls [Stage] before anything else: in init it
// does init's work, and in inner it says that this is inner. Root takes the same way,
// and is another user inside, because PostgreSQL's initdb refuses uid 0. Inner holds
// the capabilities that it needs as ambient ones, in its own user namespace only.
//
// Inner makes a [Network], a bridge, and adds a [Host] to it for each machine of the test: a
// network namespace, joined by a veth pair, with an address. [Host.Start] starts a [Process] there,
// in a process group of its own and without any capability. IPv6 is switched off, so that only the
// test's own packets are counted.
//
// In a container made for it ([AgentEnv]), inner does without a sandbox. It joins the bridge of an
// engine ([Join]), plugs hosts of its own into it, and attaches to hosts whose processes others
// started ([Attach]). The container is then the boundary; package hosts/docker makes it.
//
// # What is guaranteed
//
//   - When outer dies, by SIGKILL too and at any moment, nothing is left. The kernel kills init
//     (parent-death signal; a pipe covers the moment before that is set). With PID 1 it kills every
//     process of the PID namespace, including those that left their group and session. With the
//     last process go the namespaces, and with these every link, address, rule and mount.
//   - Nothing is written to disk: [DataDir] gives folders on a tmpfs that only the sandbox sees. It
//     is mounted on /proc/sys/fs/binfmt_misc of the sandbox's own, new /proc, an empty directory
//     that the kernel provides to be mounted upon. So no file of the user is hidden, wherever run
//     directories, servers and temporary folders are. The rest of the file system is the user's
//     own.
//   - Many sandboxes run at once with the same addresses, and do not see each other.
//   - [Sandbox.Start] and all of [Host] and [Network] may be called from any goroutine.
//   - Nothing blocks for ever: every wait takes a context or has a limit of its own.
//
// Not private are the file system, the clock, /dev/shm and the processors.
//
// If the kernel or a container refuses namespaces, Start returns a [RefusedError], which names the
// setting at fault and the command that changes it. [Probe] tries everything in a throw-away
// sandbox.
//
// # Threads
//
// A network namespace belongs to a thread. A parent-death signal is sent when the thread that
// forked ends, not its process. So a host owns one locked OS thread, on which its processes are
// forked, and which lives as long as the host. The package owns one more, on which sandboxes are
// forked, and which lives as long as the program. None of them is the program's first thread,
// because /proc/PID/ns shows the namespaces of that one.
package hosts
