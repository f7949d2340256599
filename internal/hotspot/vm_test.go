//go:build linux

package hotspot

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// startJava starts Ticks on a Java virtual machine, and returns it with the ticks.
func startJava(t *testing.T, options ...string) (pid int, ticks <-chan int64) {
	t.Helper()
	needed.Later(t, "Java is not on every machine")
	java := needed.Program(t, "java")
	needed.Program(t, "javac")
	args := append([]string{"-Xmx300m", "-XX:-UsePerfData"}, options...)
	cmd := exec.Command(java, append(args, "testdata/Ticks.java", "2000000")...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := make(chan int64, 1<<16)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			n, err := strconv.ParseInt(s.Text(), 10, 64)
			if err != nil {
				_, _ = io.Copy(io.Discard, out)
				return
			}
			lines <- n
		}
	}()
	if first := <-lines; first == 0 {
		t.Fatal("it printed no tick")
	}
	return cmd.Process.Pid, lines
}

// TestCollect: all threads of a real machine stand still from From to To, and for as long as its
// log says; nothing is left in /tmp.
func TestCollect(t *testing.T) {
	pid, ticks := startJava(t, "-XX:+UseSerialGC")
	vm, err := Find([]int{pid})
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.Able(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a machine that was attached to before can be attached to again
		ready, err := vm.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stop, err := ready.Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := ready.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stop.To <= stop.From || stop.To-stop.From > int64(stop.Length) {
			t.Errorf("%+v: the certain time is none, or longer than the stop", stop)
		}
		for tick := range ticks {
			if tick > stop.From && tick < stop.To {
				t.Errorf("it ran at %d, and stood still from %d to %d", tick, stop.From, stop.To)
			}
			if tick > stop.To {
				break
			}
		}
	}
	for _, pattern := range []string{fmt.Sprintf(".java_pid%d", pid), fmt.Sprintf(".attach_pid%d", pid), "lockchaos-safepoints-*"} {
		if left, _ := filepath.Glob("/tmp/" + pattern); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestWhatCannotCollect: a program that cannot be struck is refused before anything is done to it,
// and goes on.
func TestWhatCannotCollect(t *testing.T) {
	for name, c := range map[string]struct{ option, want string }{
		"signals":     {"-Xrs", "does not take SIGQUIT"},
		"attachments": {"-XX:+DisableAttachMechanism", "DisableAttachMechanism"},
		"collections": {"-XX:+UseZGC", errNoStop.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			pid, ticks := startJava(t, c.option)
			vm, err := Find([]int{pid})
			if err == nil {
				var ready *Ready
				if ready, err = vm.Prepare(t.Context()); err == nil {
					_, err = ready.Collect(t.Context())
					if closed := ready.Close(t.Context()); closed != nil {
						t.Error(closed)
					}
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, goes := <-ticks; !goes {
				t.Error("it has ended")
			}
		})
	}
}

// TestNoJava: what is no Java virtual machine is told of by what it is.
func TestNoJava(t *testing.T) {
	cmd := exec.Command(needed.Program(t, "sleep"), "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := Find([]int{cmd.Process.Pid}); err == nil || !strings.Contains(err.Error(), "no Java virtual machine") {
		t.Error(err)
	}
	if _, err := Find(nil); err == nil {
		t.Error("found one among none")
	}
}
