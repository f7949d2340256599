package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// AppHooks let lockchaos ask the clients for each op; it then keeps the log.
// All three are paths of HTTP requests, or all are commands.
type AppHooks struct {
	// Port is that of the clients' containers at which they listen; commands have none.
	Port    int     `yaml:"port,omitempty"`
	Acquire AppHook `yaml:"acquire,omitempty"`
	Write   AppHook `yaml:"write,omitempty"`
	Release AppHook `yaml:"release,omitempty"`
}

// AppHook is how a client is asked for one op. In YAML a path is a word, and a
// command a list of words.
type AppHook struct {
	// Path is that of an HTTP request (POST).
	Path string
	// Command is run in the client's container.
	Command []string
}

// Given reports whether the application has hooks.
func (h AppHooks) Given() bool {
	return h.Port != 0 || slices.ContainsFunc(h.all(), func(n namedHook) bool { return !n.IsZero() })
}

// Run returns the commands of the hooks.
func (h AppHooks) Run() (commands [][]string) {
	for _, n := range h.all() {
		if n.Command != nil {
			commands = append(commands, n.Command)
		}
	}
	return commands
}

// Commands reports whether the hooks are commands.
func (h AppHooks) Commands() bool {
	return len(h.Run()) > 0
}

// namedHook is a hook with its key.
type namedHook struct {
	name string
	AppHook
}

func (h AppHooks) all() []namedHook {
	return []namedHook{{"acquire", h.Acquire}, {"write", h.Write}, {"release", h.Release}}
}

// clone is a copy that shares nothing.
func (h AppHooks) clone() AppHooks {
	for _, one := range []*AppHook{&h.Acquire, &h.Write, &h.Release} {
		one.Command = slices.Clone(one.Command)
	}
	return h
}

// IsZero reports whether the hook is not given.
func (h AppHook) IsZero() bool { return h.Path == "" && h.Command == nil }

// String is the path, or the words of the command.
func (h AppHook) String() string {
	if h.Command == nil {
		return h.Path
	}
	return strings.Join(h.Command, " ")
}

// MarshalYAML writes what UnmarshalYAML reads.
func (h AppHook) MarshalYAML() (any, error) {
	if h.Command == nil {
		return h.Path, nil
	}
	return h.Command, nil
}

// UnmarshalYAML reads a word, or a list of words.
func (h *AppHook) UnmarshalYAML(node ast.Node) error {
	if list, ok := node.(*ast.SequenceNode); ok {
		h.Command = []string{}
		for _, n := range list.Values {
			word, err := wordOf(n)
			if err != nil {
				return err
			}
			h.Command = append(h.Command, word)
		}
		return nil
	}
	path, err := wordOf(node)
	h.Path = path
	return err
}

// wordOf is the text of a scalar, as it is written: 8080 and true are words, too.
func wordOf(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value, nil
	}
	return "", &yaml.SyntaxError{Token: node.GetToken(),
		Message: "a hook is a path such as /acquire, or a command as a list of words such as [./hook, acquire]"}
}

// hookForm is what a hook's path may look like.
var hookForm = lazyregexp.New(`^/[!-~]*$`)

// hooks checks them, and what they need.
func (v *validator) hooks(at string, s *Scenario) {
	h := s.App.Hooks
	commands := h.Commands()
	if commands && h.Port != 0 {
		v.fail(at+".app.hooks.port", "hooks that are commands have no port: either a port and three paths, or three commands")
	}
	if !commands && (h.Port < 1 || h.Port > 65535) {
		v.fail(at+".app.hooks", "hooks need a port, that at which the clients' containers listen; or commands in the place of paths: acquire: [./hook, acquire]")
	}
	for _, hook := range h.all() {
		v.hook(at+".app.hooks."+hook.name, hook, commands)
	}
	if s.Keys < 1 || s.Keys > 10_000 {
		v.fail(at+".keys", "hooks need keys: how many names of locks there are, 1 to 10000")
	}
	for _, p := range []struct {
		name string
		d    Duration
	}{{"acquire_timeout", s.Workload.AcquireTimeout}, {"op_timeout", s.Workload.OpTimeout}} {
		if p.d <= 0 || p.d > longest {
			v.fail(at+".workload."+p.name, "hooks need workload.%s, longer than 0 and at most %v", p.name, longest)
		}
	}
	if !isEmpty(s.App.Log) {
		v.fail(at+".app.log", "an app with hooks needs no log: lockchaos writes down what they answer")
	}
}

// hook checks one; commands reports whether one of the three is a command, so that all must be.
func (v *validator) hook(at string, h namedHook, commands bool) {
	switch {
	case commands && h.IsZero():
		v.fail(at, "hook %s is missing: all three must be given, as commands such as [./hook, %s]", h.name, h.name)
	case commands && h.Command == nil:
		v.fail(at, "%q: hook %s is a path where another is a command: all three are commands, or all are paths", h.Path,
			h.name)
	case commands && (len(h.Command) == 0 || h.Command[0] == ""):
		v.fail(at, "hook %s is a command without a program: want a list of words such as [./hook, %s]", h.name, h.name)
	case commands && strings.Contains(strings.Join(h.Command, ""), "\x00"):
		v.fail(at, "hook %s: no word of a command can have a byte 0 in it", h.name)
	case !commands && !hookForm().MatchString(h.Path):
		v.fail(at, "%q: want a path such as /%s: all three hooks must be given%s", h.Path, h.name, asCommand(h.Path))
	}
}

// asCommand says how a command is written that was meant for one word.
func asCommand(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("; a command is a list: [%s]", strings.Join(words, ", "))
}
