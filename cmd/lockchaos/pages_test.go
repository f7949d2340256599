package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/scenarios"
)

// Every lock has a page of its own; a control may stand in the list of the controls instead.
func TestEveryLockHasAPage(t *testing.T) {
	const pages = "../../docs/locks"
	controls, err := os.ReadFile(filepath.Join(pages, "controls.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range locks() {
		if k.Control != "" {
			if !strings.Contains(string(controls), "`"+k.Name+"`") || !strings.Contains(string(controls), "`"+k.Control+"`") {
				t.Errorf("docs/locks/controls.md does not say that %s is caught by %s", k.Name, k.Control)
			}
			continue
		}
		page, err := os.ReadFile(filepath.Join(pages, k.Name+".md"))
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("docs/locks/%s.md: the lock has no page", k.Name)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(string(page), "\n")
		if name, _, _ := strings.Cut(title, ":"); name != "# "+k.Name {
			t.Errorf("docs/locks/%s.md is about something else", k.Name)
		}
	}
	for _, kind := range scenarios.StoreKinds() {
		if strings.HasPrefix(kind, "broken-") && !strings.Contains(string(controls), "`"+kind+"`") {
			t.Errorf("docs/locks/controls.md says nothing of the fence %s", kind)
		}
	}
}
