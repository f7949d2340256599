// Package strictyaml reads the YAML that people write: scenarios, plans, policies.
//
// It is strict, since a key that is mistyped and silently ignored makes a test
// that tests nothing. Every mistake is told with its place, "file:line:column:
// what", be it of form, which the decoder sees, or of content, which the caller
// notes in Mistakes under the YAML path of the value.
package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/lockchaos/lockchaos/internal/spelling"
)

// Most is how long a file may be (bytes). The longest suites have a twentieth of it.
const Most = 4 << 20

// ReadFile reads a file that is no longer than Most: a mistaken name, such as
// that of a device, does not use up the memory.
func ReadFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, Most+1))
	if err == nil && len(text) > Most {
		err = fmt.Errorf("%s is longer than %d MiB: give the name of a YAML file that somebody wrote", file, Most>>20)
	}
	return text, err
}

// Decode reads exactly one YAML document and refuses keys that it does not know.
func Decode(text []byte, into any) error {
	tree, err := parse(text)
	if err != nil {
		return err
	}
	return document(tree, into)
}

// document decodes the only document of a tree.
func document(tree *ast.File, into any) error {
	var written []ast.Node
	for _, d := range tree.Docs {
		if d.Body != nil {
			written = append(written, d.Body)
		}
	}
	switch len(written) {
	case 0:
		return errors.New("the file is empty")
	case 1:
		return Node(written[0], into)
	}
	return errors.New("a second YAML document (after ---): one file holds one")
}

// Node reads one node of a tree, as strictly.
func Node(node ast.Node, into any) error {
	return hinted(yaml.NodeToValue(node, into, yaml.Strict()), into)
}

// hinted adds to the error about an unknown key which key of the form was meant.
func hinted(err error, into any) error {
	unknown, is := errors.AsType[*yaml.UnknownFieldError](err)
	if !is || unknown.Token == nil {
		return err
	}
	hint := spelling.Suggest(unknown.Token.Value, keys(reflect.TypeOf(into), map[reflect.Type]bool{}))
	if hint == "" {
		return err
	}
	return &yaml.UnknownFieldError{Message: unknown.Message + hint, Token: unknown.Token}
}

// keys lists the YAML keys of a type, at any depth.
func keys(t reflect.Type, seen map[reflect.Type]bool) (all []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return keys(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			all = append(all, name)
		}
		all = append(all, keys(f.Type, seen)...)
	}
	return all
}

// Located turns the decoder's error, which knows line and column, into one line
// "file:line:column: what".
func Located(file string, err error) error {
	if syntax, is := errors.AsType[yaml.Error](err); is && syntax.GetToken() != nil {
		at := syntax.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", file, at.Line, at.Column, syntax.GetMessage())
	}
	return fmt.Errorf("%s: %w", file, err)
}

// Mistakes collects what is wrong with the content of a file. Use Read.
type Mistakes struct {
	file string
	tree *ast.File
	errs []error
}

// Read decodes the only document of a text, as Decode does, and knows the places of its values.
func Read(text []byte, file string, into any) (*Mistakes, error) {
	tree, err := parse(text)
	if err == nil {
		err = document(tree, into)
	}
	if err != nil {
		return nil, Located(file, err)
	}
	return &Mistakes{file: file, tree: tree}, nil
}

// Line returns the line of the value at a YAML path such as $.scenarios[2].lock. A path that is
// not in the file (a missing key) is shortened until it is; 0: not even its beginning is there.
func (m *Mistakes) Line(at string) int {
	line, _ := m.position(at)
	return line
}

func (m *Mistakes) position(at string) (line, column int) {
	for p := at; p != "" && p != "$"; p = p[:max(strings.LastIndexAny(p, ".["), 0)] {
		path, err := yaml.PathString(p)
		if err != nil {
			continue
		}
		if node, err := path.FilterFile(m.tree); err == nil && node != nil {
			pos := node.GetToken().Position
			return pos.Line, pos.Column
		}
	}
	return 0, 0
}

// mostMistakes is how many are noted.
const mostMistakes = 100

// Add notes a mistake at a YAML path, once.
func (m *Mistakes) Add(at, format string, args ...any) {
	if len(m.errs) >= mostMistakes {
		return // nobody reads on
	}
	where := m.file
	if line, column := m.position(at); line > 0 {
		where = fmt.Sprintf("%s:%d:%d", m.file, line, column)
	}
	err := fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
	for _, known := range m.errs {
		if known.Error() == err.Error() {
			return // one lock of a matrix is in many scenarios
		}
	}
	m.errs = append(m.errs, err)
}

// Len is how many mistakes were noted.
func (m *Mistakes) Len() int { return len(m.errs) }

// First is the mistake that was noted first; nil if there is none.
func (m *Mistakes) First() error {
	if len(m.errs) == 0 {
		return nil
	}
	return m.errs[0]
}

// Err joins all mistakes; nil if there is none.
func (m *Mistakes) Err() error { return errors.Join(m.errs...) }
