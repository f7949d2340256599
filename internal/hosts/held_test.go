//go:build linux

package hosts_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// holder stops the process of a number, says so, and lives until it is killed.
func holder(args []string) int {
	pid, _ := strconv.Atoi(args[0])
	held, err := hosts.Hold(context.Background(), pid)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("held", held.Threads)
	return forever(nil)
}

// standing counts the threads of a process by whether they are stopped by a tracer.
func standing(t *testing.T, pid int) (stopped, others int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if _, after, _ := strings.Cut(string(text), ") "); strings.HasPrefix(after, "t") {
			stopped++
		} else {
			others++
		}
	}
	return stopped, others
}

// victim is a process of several threads.
func victim(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "forever")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// goesOn waits until no thread stands still.
func goesOn(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(limit); ; <-time.After(time.Millisecond) {
		stopped, others := standing(t, pid)
		if stopped == 0 && others > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d threads stand still, %d do not", stopped, others)
		}
	}
}

func TestHold(t *testing.T) {
	v := victim(t)
	for range 3 {
		held, err := hosts.Hold(t.Context(), v.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if stopped, others := standing(t, v.Process.Pid); stopped != held.Threads || others != 0 || stopped == 0 {
			t.Errorf("%d threads were held; %d stand still, %d do not", held.Threads, stopped, others)
		}
		at, err := held.Release()
		if err != nil || at < held.Stopped {
			t.Errorf("released at %d, held since %d: %v", at, held.Stopped, err)
		}
		goesOn(t, v.Process.Pid)
	}
}

// A program that dies while it holds a process lets it go.
func TestHoldEndsWithItsTracer(t *testing.T) {
	v := victim(t)
	by := exec.Command("/proc/self/exe", "holder", strconv.Itoa(v.Process.Pid))
	out, err := by.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := by.Start(); err != nil {
		t.Fatal(err)
	}
	said, _ := bufio.NewReader(out).ReadString('\n')
	if stopped, others := standing(t, v.Process.Pid); said != fmt.Sprintf("held %d\n", stopped) || others != 0 {
		t.Errorf("it said %q; %d threads stand still, %d do not", said, stopped, others)
	}
	if err := by.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = by.Wait()
	goesOn(t, v.Process.Pid)
}

func TestHoldOfNobody(t *testing.T) {
	v := victim(t)
	_ = v.Process.Kill()
	_ = v.Wait()
	if held, err := hosts.Hold(t.Context(), v.Process.Pid); err == nil {
		t.Errorf("a process that has ended is held: %+v", held)
	}
}
