package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every scenario knows its line: that of its name or, where it is named by its attack,
// of this, in the file that it stands in, also where another suite includes it.
func TestScenariosKnowTheirLine(t *testing.T) {
	for _, suite := range builtinSuites(t) {
		for _, s := range suite.Scenarios {
			p := suite.Places[s.Name]
			text, err := os.ReadFile(filepath.Join("../..", p.File))
			if err != nil || !p.Builtin || p.Line < 1 {
				t.Errorf("%s: %+v %v", s.Name, p, err)
				continue
			}
			_, short, _ := strings.Cut(s.Name, "/")
			if line := strings.Split(string(text), "\n")[p.Line-1]; !strings.Contains(line, short) &&
				(s.Attack == "" || !strings.Contains(line, "attack: "+s.Attack)) {
				t.Errorf("%s: line %d of %s is %q", s.Name, p.Line, p.File, line)
			}
		}
	}
}
