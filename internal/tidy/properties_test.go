package tidy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
)

// TestPropertiesAreNamedOnce: the name of a property stands in the constant of its
// own file. All other code refers to it by the constant or reads checker.Properties.
// Prose may use words that are names too, such as "a herd of waiters".
func TestPropertiesAreNamedOnce(t *testing.T) {
	t.Chdir(root)
	defined := map[string]string{}
	names := strings.Join(checker.Names(), "|")
	// A name with a hyphen is no word of prose.
	named := regexp.MustCompile(`^(` + names + `)$|(^|[\s"'=:,])(` + names + `)([\s"',]|$)`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || forTests(path) {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			for _, m := range named.FindAllStringSubmatch(text, -1) {
				name := m[1] + m[3]
				switch {
				case text != name && !strings.Contains(name, "-"):
				case filepath.Dir(path) == "checker" && text == name && defined[name] == "":
					defined[name] = path
				default:
					t.Errorf("%s names the property %s: use its constant of package checker", files.Position(lit.Pos()), name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, p := range checker.Properties() {
		if own[defined[p.Name]] || defined[p.Name] == "" {
			t.Errorf("%s has no file of its own: %q", p.Name, defined[p.Name])
		}
		own[defined[p.Name]] = true
	}
}
