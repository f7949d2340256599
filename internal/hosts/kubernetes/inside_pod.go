package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// The words with which this program is started in the pods that it makes.
const (
	podArg   = "lockchaos-pod"
	podIdle  = "idle"
	podCopy  = "copy"  // copy FILE: this program, for a container of another image
	podServe = "serve" // reads a Task and becomes it
	podShard = "shard" // reads what to run, and copies what that writes
)

// Task is what a node's container runs, whatever its image would by itself.
type Task struct {
	Command []string `json:"command"`
	Env     []string `json:"env,omitempty"` // NAME=value
}

// Stage must be called first in main, after hosts.Stage: where this program was
// started in a pod that it made itself it does what it is there for, and does
// not return; an agent waits for what outer hands over.
func Stage() {
	if Inside() {
		begin(os.Stdin)
		return
	}
	if len(os.Args) < 3 || os.Args[1] != podArg {
		return
	}
	var err error
	switch os.Args[2] {
	case podIdle:
		for {
			_ = unix.Pause() // until it is killed
		}
	case podCopy:
		err = copySelf(os.Args[3])
	case podServe:
		err = serve(os.Stdin)
	case podShard:
		var status int
		if status, err = serveShard(os.Stdin, os.Stdout); err == nil {
			os.Exit(status)
		}
	default:
		err = fmt.Errorf("unknown word %q", os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lockchaos, in a pod:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// copySelf writes this program to a file.
func copySelf(file string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// serve reads what to run, once the addresses of all nodes are known, and
// becomes that: its process number stays.
func serve(in *os.File) error {
	var t Task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("nobody said what to run: %w", err)
	}
	if len(t.Command) == 0 {
		return errors.New("nobody said what to run")
	}
	path, err := exec.LookPath(t.Command[0])
	if err != nil {
		return fmt.Errorf("the image does not hold %s: %w", t.Command[0], err)
	}
	empty, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := unix.Dup3(empty, 0, 0); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, t.Command, append(os.Environ(), t.Env...)))
}

// runSelf runs this program once more, with other arguments, and returns its
// exit status. When ctx ends it is interrupted, and waited for.
func runSelf(ctx context.Context, args []string, out io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Args[0] = program
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		return ended.ExitCode(), nil
	}
	return 0, err
}
