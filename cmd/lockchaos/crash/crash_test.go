package crash_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/cmd/lockchaos/crash"
)

// how says how the test, run again, is to crash.
const how = "LOCKCHAOS_TEST_CRASH"

var crashes = map[string]func(){
	"a panic on another goroutine": func() { go panic("on purpose"); select {} },
	"a fatal error":                func() { new(sync.Mutex).Unlock() },
	"a stack without end": func() {
		debug.SetMaxStack(1 << 16)
		var deep func(int) int
		deep = func(n int) int { return deep(n+1) + 1 }
		deep(0)
	},
	"a fault in memory": func() { debug.SetPanicOnFault(false); go func() { var p *int; *p = 1 }(); select {} },
}

func TestMain(m *testing.M) {
	if f := crashes[os.Getenv(how)]; f != nil {
		f()
	}
	os.Exit(m.Run())
}

// TestCrashIsNoResult crashes a process in each way. Go alone would end it with status 2.
func TestCrashIsNoResult(t *testing.T) {
	for name := range crashes {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), how+"="+name)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != crash.Status || !strings.Contains(string(out), "goroutine ") {
			t.Errorf("%s: %v, want exit status %d; %.600s", name, err, crash.Status, out)
		}
	}
}
