//go:build linux

package hosts

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageVar tells a re-executed copy of the program which of the three it is. It
// is a hint: Stage believes it only where the namespaces agree, so a stray
// variable never lets us touch the user's own network.
const stageVar = "LOCKCHAOS_STAGE"

const (
	stageInit = "init" // "init N": N extra files follow the two pipes
	// "inner INODE DIR": the sandbox's network namespace, and where DataDir makes folders
	stageInner = "inner"
	// "agent DIR": no sandbox, but a container made for us; DIR is where DataDir makes folders
	stageAgent = "agent"
)

// AgentEnv is the variable that makes this program an inner one in a container that is not a
// sandbox: one that shares the machine's network and processes, has the capabilities of an inner
// program, and a folder of its own. It may Join networks and Attach to hosts, and makes none.
func AgentEnv(dataDir string) string { return stageVar + "=" + stageAgent + " " + dataDir }

// The descriptors that outer gives init.
const (
	lifelineFD = 3
	reportFD   = 4
	extraFD    = 5
)

// inside is set in inner only; it guards what would otherwise be done to the user's own network.
var inside struct {
	yes     bool
	agent   bool
	dataDir string
}

// Stage must be called first in main or TestMain, before the program looks at its
// arguments. Outside a sandbox it costs nothing and returns false. In init it does init's
// work and never returns. In inner it returns true; nothing that inner starts learns of it.
func Stage() (inner bool) {
	if len(os.Args) > 1 && os.Args[1] == idleArg {
		idle()
	}
	fields := strings.Fields(os.Getenv(stageVar))
	if len(fields) == 0 {
		return Inside()
	}
	os.Unsetenv(stageVar)
	for _, s := range stages {
		if fields[0] == s.name && len(fields) == 1+s.words {
			s.enter(fields[1:])
		}
	}
	if inside.yes && len(os.Args) > 1 && os.Args[1] == probeArg {
		os.Exit(probeInside())
	}
	return Inside()
}

// stages are what a copy of the program can be, and how many words of the variable follow the name
// of each.
var stages = []struct {
	name  string
	words int
	enter func(words []string)
}{
	{stageInit, 1, func(words []string) {
		if os.Getpid() == 1 {
			extra, _ := strconv.Atoi(words[0])
			// Not os.Exit: that waits a second in programs built with the race detector.
			syscall.Exit(runInit(extra))
		}
	}},
	{stageInner, 2, func(words []string) {
		if ino, err := inode("/proc/self/ns/net"); err == nil && os.Getppid() == 1 &&
			strconv.FormatUint(ino, 10) == words[0] {
			inside.yes, inside.dataDir = true, words[1]
		}
	}},
	{stageAgent, 1, func(words []string) { inside.agent, inside.dataDir = true, words[0] }},
}

// Inside reports whether this process is the inner one of a sandbox, or an agent (AgentEnv).
func Inside() bool { return inside.yes || inside.agent }

// Agent reports whether this process is an agent (AgentEnv).
func Agent() bool { return inside.agent }

func isStageVar(env string) bool { return strings.HasPrefix(env, stageVar+"=") }

// runInit is PID 1: it prepares the file system, starts inner, passes signals
// on and reaps whatever dies. It returns inner's exit status.
func runInit(extra int) (status int) {
	unix.CloseOnExec(lifelineFD)
	unix.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	signals := make(chan os.Signal, 16)
	// Notify, not Ignore: an ignored signal stays ignored over exec.
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	go watchLifeline(signals)

	inner, op, err := startInner(extra)
	r := initReport{Op: op}
	if err != nil {
		r.Text = err.Error()
		errors.As(err, &r.Errno)
	}
	_ = json.NewEncoder(report).Encode(r) // nobody reads it any more: then the lifeline ends us
	report.Close()
	if err != nil {
		return 3
	}
	go func() {
		for s := range signals {
			_ = unix.Kill(inner, s.(syscall.Signal)) // if it is gone, so are we
		}
	}()
	return reapUntil(inner)
}

// watchLifeline turns the bytes that outer writes into signals, and outer's death
// into ours. The parent-death signal alone would not do: outer may die before it
// is set, and Go's own check for that does nothing in a new PID namespace.
func watchLifeline(signals chan<- os.Signal) {
	lifeline := os.NewFile(lifelineFD, "lifeline")
	b := make([]byte, 1)
	for {
		if _, err := lifeline.Read(b); err != nil {
			syscall.Exit(128 + int(unix.SIGKILL))
		}
		signals <- syscall.Signal(b[0])
	}
}

// startInner prepares the file system and starts inner. In an error, op says what was being done.
func startInner(extra int) (pid int, op string, err error) {
	net, err := inode("/proc/self/ns/net")
	if err != nil {
		return 0, "read the new network namespace", err
	}
	dataDir, op, err := prepareMounts()
	if err != nil {
		return 0, op, err
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", stageVar, stageInner, net, dataDir))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for i := range extra {
		unix.CloseOnExec(extraFD + i) // inner gets it under its own number
		f := os.NewFile(uintptr(extraFD+i), "extra")
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		defer f.Close() // ours would keep pipes open that inner closes
	}
	if err := cmd.Start(); err != nil {
		return 0, "start the inner program", err
	}
	return cmd.Process.Pid, "", nil
}

// dataMountpoints are where the data tmpfs may go, the best first. Both lie in the sandbox's
// own new /proc, so nothing of the user's is hidden. The first is an empty directory that
// the kernel keeps for mounting on; it is missing in kernels without binfmt_misc. Mounting
// on the second makes the kernel refuse a new /proc to sandboxes inside this one.
var dataMountpoints = []string{"/proc/sys/fs/binfmt_misc", "/proc/driver"}

// prepareMounts gives the sandbox its own /proc, which shows the new PID
// namespace, and the tmpfs for data.
func prepareMounts() (dataDir, op string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", "make mounts private", err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return "", opMountProc, err
	}
	for _, dir := range dataMountpoints {
		err = unix.Mount("lockchaos", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700")
		if err == nil {
			return dir, "", nil
		}
	}
	return "", "mount a tmpfs for data folders", err
}

// reapUntil reaps every process that dies until inner does, and returns inner's
// exit status. Nobody else in init waits for processes: one reaper only.
func reapUntil(inner int) (status int) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "sandbox: wait:", err)
			return 3
		case pid == inner && ws.Signaled():
			return 128 + int(ws.Signal())
		case pid == inner:
			return ws.ExitStatus()
		}
	}
}

// DataDir makes a fresh folder for the data of a host and returns its path. It
// lies on a tmpfs that only this sandbox sees and that goes with it. A second
// call with the same name makes a second folder.
func DataDir(host string) (string, error) {
	if !Inside() {
		return "", fmt.Errorf("data folder of %s: %w", host, ErrOutside)
	}
	if host == "" || strings.ContainsAny(host, "/\x00*") || host[0] == '.' {
		return "", fmt.Errorf("data folder of %q: not a host name", host)
	}
	dir := inside.dataDir + "/" + host
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		dir, err = os.MkdirTemp(inside.dataDir, host+"-")
	}
	if err != nil {
		return "", fmt.Errorf("data folder of %s: %w", host, err)
	}
	return dir, nil
}

// inode returns the number by which the kernel knows a namespace.
func inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Ino, nil
}
