package adapter

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// simple is a command line that a shell would only start one program for: words
// and assignments, and nothing that means more to a shell. 2 is the program.
var simple = lazyregexp.New("^\\s*((?:[A-Za-z_][A-Za-z0-9_]*=[^\\s;&|<>()`'\"\\\\]*\\s+)*)([A-Za-z0-9_./+-]+)(\\s[^;&|<>()`\n]*)?$")

// Command is the command that starts an adapter's command line in a folder; "" is the present one.
// Where the line is one program, the shell becomes that program. A shell that waited for it would
// hold the pipe of its standard output open, and nobody would see that the adapter has closed it.
func Command(line, dir string) *exec.Cmd {
	if m := simple().FindStringSubmatch(line); m != nil && isProgram(m[2], dir) {
		line = m[1] + "exec " + m[2] + m[3]
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir = dir
	return cmd
}

// isProgram reports whether a word is a program's, and no word of the shell's
// own such as "while" or "cd".
func isProgram(word, dir string) bool {
	if strings.Contains(word, "/") && !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
		if !strings.Contains(word, "/") { // LookPath would search for it
			word = "./" + word
		}
	}
	_, err := exec.LookPath(word)
	return err == nil
}
