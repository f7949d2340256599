package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/harmless/harmlesstest"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// commandsSeen are the commands that GitHub's runner would carry out in what
// was printed, without those that turn commands off and on.
func commandsSeen(output string) (seen []string, off bool) {
	token := ""
	for _, line := range strings.Split(output, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case token != "" && text == "::"+token+"::":
			token = ""
		case token != "":
		case strings.HasPrefix(text, "::stop-commands::"):
			token = strings.TrimPrefix(text, "::stop-commands::")
		case strings.HasPrefix(text, "::"), strings.Contains(text, "##["):
			seen = append(seen, text)
		}
	}
	return seen, token != ""
}

// switches are the lines that turn GitHub's commands off and on.
var switches = regexp.MustCompile(`(?m)^::(stop-commands::)?[0-9a-f]{20,}(::)?$`)

// TestHostileAdapters runs adapters that say hostile things wherever they may say anything.
func TestHostileAdapters(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("needs sandboxes")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	evil, err := json.Marshal(harmlesstest.Hostile)
	if err != nil {
		t.Fatal(err)
	}
	const loop = `while read -r l; do id=${l#*:}; id=${id%%,*}
case $l in
*hello*) echo "{\"id\":$id,\"ok\":true,\"name\":\"evil 1\",\"validity\":\"session\",\"token\":\"none\"}";;
*acquire*) echo "{\"event\":\"lost\",\"key\":$E,\"why\":$E}"; echo "{\"event\":\"lost\",\"key\":\"k0\",\"why\":$E}"; echo "{\"id\":$id,\"ok\":false,\"error\":$E,\"text\":$E}";;
*close*) echo "{\"id\":$id,\"ok\":true}";;
*) echo "{\"id\":$id,\"ok\":false,\"error\":$E,\"text\":$E}";;
esac; done`
	files := map[string]string{"evil.json": string(evil), "evil.txt": harmlesstest.Hostile}
	adapters := map[string]string{
		"dies.sh":  "cat evil.txt >&2; exit 3",
		"line.sh":  "cat evil.txt; read l; cat",
		"name.sh":  `E=$(cat evil.json); read l; echo "{\"id\":1,\"ok\":true,\"name\":$E,\"validity\":\"\",\"token\":\"none\"}"; cat`,
		"word.sh":  `E=$(cat evil.json); read l; echo "{\"id\":1,\"ok\":true,\"name\":\"x\",\"validity\":$E,\"token\":\"none\"}"; cat`,
		"other.sh": `E=$(cat evil.json); read l; echo "{\"id\":1,\"ok\":true,\"name\":\"x\",$E:1}"; cat`,
		"no.sh":    `E=$(cat evil.json); read l; echo "{\"id\":1,\"ok\":false,\"error\":$E,\"text\":$E}"; cat`,
		"says.sh":  "E=$(cat evil.json); cat evil.txt >&2; " + loop,
	}
	for name, text := range adapters {
		files[name] = text + "\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name := range adapters {
		for _, args := range [][]string{
			{"run", "redis-setnx/none/unfenced", "--retries", "0", "--duration", "500ms", "--lock-cmd", "sh " + name,
				"--service", "none", "--format", "github"},
			{"adapter", "test", "sh " + name, "--service", "none", "--format", "github"},
			{"adapter", "test", "sh " + name, "--service", "none"},
		} {
			if name != "dies.sh" && name != "says.sh" && args[0] == "adapter" && args[len(args)-1] == "github" {
				continue // the errors at its hello take the same way
			}
			var out, errs bytes.Buffer
			code := execute(t.Context(), args, &out, &errs)
			if code == exit.OK {
				t.Errorf("%s: %v: exit status 0", name, args)
			}
			if text := out.String() + errs.String(); !strings.Contains(text, `\u001b`) && !strings.Contains(text, `\x1b`) {
				t.Errorf("%s: %v: nothing hostile was printed:\n%s", name, args, text)
			}
			for _, text := range []string{out.String(), errs.String()} {
				if wrong := harmlesstest.Wrong(switches.ReplaceAllString(text, ""), "::error ", "::warning ", "::notice "); wrong != "" {
					t.Errorf("%s: %v: %s", name, args, wrong)
				}
				seen, off := commandsSeen(text)
				for _, c := range seen {
					if !strings.HasPrefix(c, "::error ") && !strings.HasPrefix(c, "::warning ") && !strings.HasPrefix(c, "::notice ") {
						t.Errorf("%s: %v: a command: %q", name, args, c)
					}
				}
				if off {
					t.Errorf("%s: %v: commands stay off at the end", name, args)
				}
			}
			if last := args[len(args)-1]; last == "github" && !strings.HasPrefix(out.String(), "::stop-commands::") {
				t.Errorf("%s: %v: commands are on", name, args)
			}
		}
	}
}
