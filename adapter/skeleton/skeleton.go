// Package skeleton writes adapters to begin with: in each language a complete lock, scheduler or
// election on one Redis server, in one commented file that needs no library, and that passes the
// conformance run.
package skeleton

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The folder of Go's skeleton begins with an underscore and its go.mod has another
// name, so that the go command does not take it for one of this module's packages.
//
//go:embed templates
var templates embed.FS

// Language is a language that a skeleton can be written in.
type Language struct {
	Name string
	// File is the skeleton's main file; Command starts it from its own folder,
	// after Build has been run there, where it is not empty.
	File, Command, Build string
	// Needs are the programs that it takes.
	Needs []string
}

// Languages lists them.
func Languages() []Language {
	return []Language{
		{"python", "lock.py", "python3 lock.py", "", []string{"python3"}},
		{"node", "lock.js", "node lock.js", "", []string{"node"}},
		{"java", "Lock.java", "java -XX:-UsePerfData -cp . Lock", "javac Lock.java", []string{"java", "javac"}},
		{"go", "lock.go", "./lock", "go build -o lock lock.go", []string{"go"}},
		{"ruby", "lock.rb", "ruby lock.rb", "", []string{"ruby"}},
	}
}

// Of returns the language with the files of an adapter of the kind (adapter.KindJob,
// adapter.KindLeader); "": a lock.
func (l Language) Of(kind string) Language {
	word := cmp.Or(kind, "lock")
	fill := strings.NewReplacer("lock", word, "Lock", strings.ToUpper(word[:1])+word[1:])
	l.File, l.Command, l.Build = fill.Replace(l.File), fill.Replace(l.Command), fill.Replace(l.Build)
	return l
}

// Lookup returns the language of a name.
func Lookup(name string) (Language, bool) {
	for _, l := range Languages() {
		if l.Name == name {
			return l, true
		}
	}
	return Language{}, false
}

// Write writes the language's skeleton into the folder, which is made if it is
// not there. A file that is there already is left as it is, and is an error.
func Write(l Language, dir string) error {
	text, err := assemble("templates/"+l.Name+"/", l.File+suffix(l))
	if err != nil {
		return fmt.Errorf("the skeleton in %s: %w", l.Name, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the adapter's folder: %w", err)
	}
	return create(filepath.Join(dir, l.File), text)
}

// include begins a line that stands for a file beside the template.
const include = "INCLUDE "

// assemble puts a template together with what it includes.
func assemble(folder, file string) (out []byte, err error) {
	text, err := templates.ReadFile(folder + file)
	for line := range bytes.Lines(text) {
		if name, found := bytes.CutPrefix(line, []byte(include)); found && err == nil {
			line, err = assemble(folder, string(bytes.TrimSpace(name)))
		}
		out = append(out, line...)
	}
	return out, err
}

// SuiteFile is the name of the scenarios that WriteSuite writes.
const SuiteFile = "scenarios.yaml"

// WriteSuite writes scenarios for the adapter of the kind that Write wrote into the folder. Command
// starts it from the folder in which lockchaos will run; schema is the first line, for editors.
func WriteSuite(dir, kind, command, schema string) error {
	text, err := templates.ReadFile("templates/" + cmp.Or(kind, "suite") + ".yaml")
	if err != nil {
		return fmt.Errorf("the scenarios of a skeleton: %w", err)
	}
	fill := strings.NewReplacer("NAME", "my-"+cmp.Or(kind, "lock"), "COMMAND", "'"+strings.ReplaceAll(command, "'", "''")+"'")
	return create(filepath.Join(dir, SuiteFile), []byte(schema+fill.Replace(string(text))))
}

// create writes a file that is not there yet.
func create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and is left as it is: give another --dir", path)
	}
	if err != nil {
		return fmt.Errorf("write the adapter: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the adapter: %w", err)
	}
	return nil
}

// suffix hides Go's skeleton from the go command.
func suffix(l Language) string {
	if strings.HasSuffix(l.File, ".go") {
		return ".txt"
	}
	return ""
}

// In returns a command of the language, as it is typed beside the folder. Quote
// makes words of what it is given, for a shell.
func In(dir, command string, quote func(...string) string) string {
	if dir == "." || command == "" {
		return command
	}
	program, file, found := strings.Cut(command, " ")
	switch {
	case strings.HasPrefix(command, "./") && filepath.IsAbs(dir):
		return quote(filepath.Join(dir, program))
	case strings.HasPrefix(command, "./"):
		return quote("./" + filepath.Join(dir, program))
	case strings.Contains(command, " -cp . "):
		return strings.Replace(command, " -cp . ", " -cp "+quote(dir)+" ", 1)
	case found:
		return program + " " + quote(filepath.Join(dir, file))
	}
	return command
}
