package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is this program in a pod, if it is started as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "say" { // by runSelf
		fmt.Println("self", os.Args[2])
		os.Exit(7)
	}
	Stage()
	os.Exit(m.Run())
}

// staged runs this program as one in a pod.
func staged(input string, words ...string) (out string, process int, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", 0, err
	}
	cmd := exec.Command(self, append([]string{podArg}, words...)...)
	var both bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &both, &both
	if err = cmd.Start(); err != nil {
		return "", 0, err
	}
	err = cmd.Wait()
	return both.String(), cmd.Process.Pid, err
}

func TestServeBecomesTheTask(t *testing.T) {
	task, err := json.Marshal(Task{Command: []string{"sh", "-c", `echo "$$ $WORD $0"; cat; exit 3`, "an argument"},
		Env: []string{"WORD=some word"}})
	if err != nil {
		t.Fatal(err)
	}
	out, process, err := staged(string(task)+"\nwhat is not for the server", podServe)
	if want := fmt.Sprintf("%d some word an argument\n", process); out != want {
		t.Errorf("it said %q, not %q", out, want)
	}
	if err == nil || err.Error() != "exit status 3" {
		t.Errorf("it ended with %v", err)
	}
}

func TestServeRefuses(t *testing.T) {
	for input, want := range map[string]string{
		"":                                 "nobody said what to run",
		"{}":                               "nobody said what to run",
		`{"command":[]}`:                   "nobody said what to run",
		"nonsense":                         "nobody said what to run",
		`{"command":["no-such-program"]}`:  "the image does not hold no-such-program",
		`{"command":["/etc/passwd","-x"]}`: "/etc/passwd",
	} {
		out, _, err := staged(input, podServe)
		if err == nil || err.Error() != "exit status 1" || !strings.Contains(out, want) {
			t.Errorf("%q: %q, %v", input, out, err)
		}
	}
	if out, _, err := staged("", "nonsense"); err == nil || !strings.Contains(out, `unknown word "nonsense"`) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestCopyIsThisProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copy")
	if out, _, err := staged("", podCopy, file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the copy has %d bytes, not %d: %v", len(got), len(want), err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("it can't be run: %v, %v", info, err)
	}
}

func TestRunSelf(t *testing.T) {
	var out bytes.Buffer
	if status, err := runSelf(t.Context(), []string{"say", "hello"}, &out); status != 7 || err != nil || out.String() != "self hello\n" {
		t.Errorf("%d, %v, %q", status, err, out.String())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runSelf(ended, []string{"say", "hello"}, &out); err == nil {
		t.Error("it ran although the run was over")
	}
}
