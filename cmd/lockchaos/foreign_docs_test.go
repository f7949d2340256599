package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shown is a command of the docs that reads files which they show, and what they say of its output.
type shown struct {
	line   int
	args   []string
	output []string
	files  map[string]string
}

// shownCommands are those of a page, whose examples are indented by four
// spaces: "$ cat FILE" with the file, and "$ lockchaos check …".
func shownCommands(page string) (all []shown) {
	files, file := map[string]string{}, ""
	var last *shown
	for i, line := range strings.Split(page, "\n") {
		text, example := strings.CutPrefix(line, "    ")
		name, cat := strings.CutPrefix(text, "$ cat ")
		switch {
		case !example:
			file, last = "", nil
		case cat:
			file, last = name, nil
			files[file] = ""
		case strings.HasPrefix(text, "$ lockchaos check "):
			all = append(all, shown{line: i + 1, args: shellWords(strings.TrimPrefix(text, "$ lockchaos ")), files: map[string]string{}})
			file, last = "", &all[len(all)-1]
			for name, content := range files {
				last.files[name] = content
			}
		case strings.HasPrefix(text, "$ "):
			file, last = "", nil
		case file != "":
			files[file] += text + "\n"
		case last != nil && slices.Contains(last.args, "\\"):
			last.args = append(slices.DeleteFunc(last.args, func(a string) bool { return a == "\\" }), shellWords(text)...)
		case last != nil && !strings.Contains(text, "…"):
			last.output = append(last.output, strings.TrimSpace(text))
		}
	}
	return slices.DeleteFunc(all, func(s shown) bool {
		return !slices.ContainsFunc(s.args, func(a string) bool { _, known := s.files[a]; return known })
	})
}

// shellWords are the words of a command, some between single quotes.
func shellWords(text string) (words []string) {
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// TestExamplesOfForeignLogs: each example of docs/foreign.md is pasted and run,
// and prints what the page says.
func TestExamplesOfForeignLogs(t *testing.T) {
	page, err := os.ReadFile("../../docs/foreign.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, one := range shownCommands(string(page)) {
		dir := t.TempDir()
		t.Chdir(dir)
		for i, arg := range one.args {
			if content, known := one.files[arg]; known && i > 0 {
				if err := os.WriteFile(filepath.Join(dir, arg), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				ran[arg] = true
			}
		}
		var out bytes.Buffer
		command := rootCommand()
		command.SetArgs(one.args)
		command.SetOut(&out)
		command.SetErr(&out)
		err := command.Execute()
		for _, want := range one.output {
			if !strings.Contains(out.String(), want) {
				t.Errorf("docs/foreign.md:%d: %q is not in the output (%v):\n%s", one.line, want, err, out.String())
			}
		}
		if len(one.output) == 0 {
			t.Errorf("docs/foreign.md:%d: the page does not say what the command prints", one.line)
		}
	}
	for _, file := range []string{"klog.log", "app.log", "worker.log", "pino.log", "trace.json", "leases.json", "runs.csv", "monitor.txt"} {
		if !ran[file] {
			t.Errorf("docs/foreign.md shows no example with %s that can be run", file)
		}
	}
}
