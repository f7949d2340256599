// Command notices writes what the licences of compiled-in modules ask for: their
// texts, with the names of the modules. A release's archives and image carry the file.
//
//	go run ./internal/notices FILE
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// program is what a release compiles, and processors are those that it is compiled for.
const program = "./cmd/lockchaos"

var processors = []string{"amd64", "arm64"}

// legal are the names of files that a copy of the module must have with it.
var legal = regexp.MustCompile(`(?i)^(li[cs]en[cs]es?|copying|notice|patents|copyright|unlicen[cs]e)([-._].*)?$`)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "notices: which file is to be written?")
		os.Exit(64)
	}
	text, err := notices()
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(3)
	}
}

// module is one that is compiled in, with the folders of its packages that are.
type module struct {
	name    string
	dir     string
	folders []string
}

// notices is the text of the file. Equal texts stand once, under all their modules.
func notices() ([]byte, error) {
	modules, err := compiledIn()
	if err != nil {
		return nil, err
	}
	of := map[string][]string{} // the modules, by the text
	for _, m := range modules {
		texts, err := m.texts()
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			of[text] = append(of[text], m.name)
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "lockchaos contains these %d modules, under the licences and with the notices below.\nTheir sources are what the Go command fetches for these names and versions.\n", len(modules))
	texts := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return strings.Compare(of[a][0]+a, of[b][0]+b) })
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return out.Bytes(), nil
}

// compiledIn finds what is compiled in: the standard library, and modules that are not ours.
func compiledIn() ([]*module, error) {
	said, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go's own licence: %w", err)
	}
	root := strings.TrimSpace(string(said))
	found := map[string]*module{"Go": {name: "Go's standard library and runtime", dir: root, folders: []string{root}}}
	for _, processor := range processors {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", program)
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+processor, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		listed, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list what is compiled in for %s: %w", processor, err)
		}
		for d := json.NewDecoder(bytes.NewReader(listed)); ; {
			var p struct {
				Dir    string
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("read what is compiled in: %w", err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			m := found[p.Module.Path]
			if m == nil {
				m = &module{name: p.Module.Path + " " + p.Module.Version, dir: p.Module.Dir}
				found[p.Module.Path] = m
			}
			m.folders = append(m.folders, p.Dir)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *module) int { return strings.Compare(a.name, b.name) }), nil
}

// texts are those of the module's root, and of each folder on the way to a
// package that is compiled in.
func (m *module) texts() (texts []string, err error) {
	looked := map[string]bool{}
	for _, folder := range m.folders {
		for ; !looked[folder] && strings.HasPrefix(folder, m.dir); folder = filepath.Dir(folder) {
			looked[folder] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(looked)) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("look for the licence of %s: %w", m.name, err)
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !legal.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("read the licence of %s: %w", m.name, err)
			}
			if trimmed := strings.TrimSpace(string(text)); !slices.Contains(texts, trimmed) {
				texts = append(texts, trimmed)
			}
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no file with its licence in %s", m.name, m.dir)
	}
	return texts, nil
}
