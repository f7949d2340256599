package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waitVerb makes this test program wait for two interrupts.
const waitVerb = "wait-for-interrupts"

// waitForInterrupts says when it has been interrupted once, and never ends by itself.
func waitForInterrupts() {
	ctx := interruptible()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("interrupted")
	select {}
}

// The second interrupt ends the program at once, in the foreground and as a
// shell starts it in the background.
func TestSecondInterruptEndsIt(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// of the shell's trap: as it is by default, and ignored
	for _, disposition := range []string{"-", ""} {
		cmd := exec.Command("sh", "-c", `trap "$0" INT; exec "$@"`, disposition, exe, waitVerb)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() || lines.Text() != "ready" {
			t.Fatalf("it says %q", lines.Text())
		}
		if err := cmd.Process.Signal(unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != "interrupted" {
			t.Fatalf("it says %q", lines.Text())
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		awaitThat(t, "an interrupt, sent again until the first is no longer caught, ends it", func() bool {
			_ = cmd.Process.Signal(unix.SIGINT) // it may have ended
			select {
			case <-ended:
				return true
			case <-time.After(20 * time.Millisecond):
				return false
			}
		})
		if s := cmd.ProcessState; !signalled(s, unix.SIGINT) && s.ExitCode() != endedBySIGINT {
			t.Errorf("trap %q: it ended with %v", disposition, s)
		}
	}
}
