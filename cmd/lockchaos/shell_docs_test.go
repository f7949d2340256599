package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// pasted is a command line of a page, behind "$ ", and what the page says that it prints.
type pasted struct {
	line   int
	text   string
	output []string
}

// pastedCommands are those of a page, whose examples are indented by four spaces.
func pastedCommands(page string) (all []pasted) {
	var last *pasted
	goesOn := false
	for i, line := range strings.Split(page, "\n") {
		text, example := strings.CutPrefix(line, "    ")
		command, begins := strings.CutPrefix(text, "$ ")
		switch {
		case !example:
			last, goesOn = nil, false
			continue
		case begins:
			all = append(all, pasted{line: i + 1, text: command})
			last = &all[len(all)-1]
		case last == nil:
			continue
		case goesOn:
			last.text += "\n" + text
		default:
			last.output = append(last.output, text)
			continue
		}
		goesOn = strings.HasSuffix(text, `\`)
	}
	return all
}

// TestExamplesOfShellLocks: each example of docs/shell.md is pasted and run, and prints what the
// page says.
func TestExamplesOfShellLocks(t *testing.T) {
	needed.Apart(t, "TestScripts/shell stands for the other shell scripts")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	for _, name := range []string{"redis-server", "redis-cli", "flock"} {
		needed.Program(t, name)
	}
	page, err := os.ReadFile("../../docs/shell.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + filepath.Dir(program(t)) + ":" + os.Getenv("PATH")
	commands := pastedCommands(string(page))
	if len(commands) < 4 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, one := range commands {
		if len(one.output) == 0 {
			t.Errorf("docs/shell.md:%d: the page does not say what the command prints", one.line)
		}
		decided.Run(t, func() {
			cmd := exec.Command("sh", "-c", one.text)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), path)
			out, _ := cmd.CombinedOutput() // its exit status is looked at
			status := cmd.ProcessState.ExitCode()
			if falls := strings.Contains(strings.Join(one.output, "\n"), "fell: a defect"); status == exit.Violated && !falls {
				t.Fatalf("docs/shell.md:%d: a correct lock is accused:\n%s", one.line, out)
			}
			for _, want := range one.output {
				if strings.Contains(string(out), want) {
					continue
				}
				if status == exit.OK || status == exit.Inconclusive { // it was too slow to show all
					decided.Lacks("%q in the output of docs/shell.md:%d", want, one.line)
				}
				t.Fatalf("docs/shell.md:%d: %q is not in the output (exit status %d):\n%s", one.line, want, status, out)
			}
		})
	}
}
