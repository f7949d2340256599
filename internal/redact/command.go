package redact

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// ownPrefix begins the names of the variables that Command makes.
const ownPrefix = "LOCKCHAOS_SECRET_"

// made are the variables that Command has made, by their values.
var made struct {
	sync.Mutex
	names map[string]string
}

// Command takes the secrets out of a command line for a shell. Each is put into the
// environment, of this process and of all that it starts, and a reference to its variable
// takes its place. So the command does the same as before, and can be written down.
func Command(command string) (string, error) {
	before := len(command)
	for _, s := range secretsIn(command) {
		if s.to > before {
			continue // it overlaps one that ends later
		}
		if q := command[s.from]; s.to-s.from >= 2 && (q == '"' || q == '\'') && command[s.to-1] == q {
			s.from, s.to = s.from+1, s.to-1
		}
		before = s.from
		value := command[s.from:s.to]
		if value == "" || strings.HasPrefix(value, "$") {
			continue // already the name of a variable
		}
		reference, err := refer(command[:s.from], value)
		if err != nil {
			return "", err
		}
		command = command[:s.from] + reference + command[s.to:]
	}
	return command, nil
}

// span is a part of a text.
type span struct{ from, to int }

// secretsIn finds the secrets of a command: from the end, so that places stay when the later ones
// are replaced.
func secretsIn(command string) (found []span) {
	learn()
	secrets.RLock()
	defer secrets.RUnlock()
	for _, v := range secrets.values {
		for at, rest := 0, command; ; {
			before, after, ok := strings.Cut(rest, v)
			if !ok {
				break
			}
			at += len(before) + len(v)
			found, rest = append(found, span{at - len(v), at}), after
		}
	}
	found = append(found, formed(command)...)
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(b.to-a.to, a.from-b.from) })
	return found
}

// refer puts a secret into the environment, and returns what takes its place
// after the beginning of a command.
func refer(beginning, value string) (string, error) {
	quote := quoted(beginning)
	if quote != '\'' && strings.ContainsAny(value, "\\$`") {
		return "", fmt.Errorf("the command line has a password in it that a shell would change; put it into an environment variable, MY_PASSWORD say, and write \"$MY_PASSWORD\" in its place")
	}
	made.Lock()
	defer made.Unlock()
	name := made.names[value]
	if name == "" {
		if made.names == nil {
			made.names = map[string]string{}
		}
		// a saved command may refer to one already
		for n := len(made.names) + 1; name == "" || os.Getenv(name) != ""; n++ {
			name = fmt.Sprintf("%s%d", ownPrefix, n)
		}
		made.names[value] = name
		if err := os.Setenv(name, value); err != nil {
			return "", fmt.Errorf("keep a password of the command line in the environment: %w", err)
		}
		Add(value)
	}
	switch quote {
	case '\'':
		return `'"${` + name + `}"'`, nil
	case '"':
		return `${` + name + `}`, nil
	}
	return `"${` + name + `}"`, nil
}

// quoted is the quote that is open at the end of a shell's text, 0 for none.
func quoted(text string) (open byte) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && open != '\'':
			i++
		case open == 0 && (c == '\'' || c == '"'):
			open = c
		case c == open:
			open = 0
		}
	}
	return open
}

var reference = lazyregexp.New(`\$\{(` + ownPrefix + `[0-9]+)\}`)

// Lacking names the variable that a command which was written down refers to,
// and which is not set; "": none.
func Lacking(command string) string {
	for _, m := range reference().FindAllStringSubmatch(command, -1) {
		if os.Getenv(m[1]) == "" {
			return m[1]
		}
	}
	return ""
}
