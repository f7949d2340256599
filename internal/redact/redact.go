// Package redact keeps passwords out of all output: plans, histories, reports, logs, the terminal.
//
// These are secrets:
//
//   - the value of an environment variable whose name says so (REDIS_PASSWORD,
//     AWS_SECRET_ACCESS_KEY, GITHUB_TOKEN);
//   - the password in a URL (of a variable, an address, a command line), and what follows password=
//     and the like;
//   - in a command line, the value of an option, an assignment or a header whose name says so, and
//     what looks like a key or token (secretform.go);
//   - what was handed to Add.
//
// Every process of a run finds the same secrets, since all inherit the environment. A secret that
// came on the command line is put into the environment (Command).
//
// A value is only looked for if it is long enough not to be found by chance everywhere: 6 letters
// from the environment, 4 elsewhere. In URLs, and after password=, any length is removed.
package redact

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Mask stands where a secret was.
const Mask = "***"

// The least lengths of values that are looked for.
const (
	leastEnv   = 6
	leastGiven = 4
)

var secrets struct {
	sync.RWMutex
	known  bool     // the environment has been looked at
	values []string // the longest first: one may be part of another
}

// Add makes a value known as a secret.
func Add(values ...string) {
	secrets.Lock()
	defer secrets.Unlock()
	for _, v := range values {
		for _, form := range []string{v, url.QueryEscape(v), url.PathEscape(v)} {
			if len(form) >= leastGiven && !slices.Contains(secrets.values, form) {
				secrets.values = append(secrets.values, form)
			}
		}
	}
	slices.SortStableFunc(secrets.values, func(a, b string) int { return len(b) - len(a) })
}

// secretNames are the names of variables that hold secrets.
var secretNames = lazyregexp.New(`(?i)(PASS|PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?|_AUTH)(_[0-9]+)?$`)

// learn finds the secrets of the environment, once.
func learn() {
	secrets.RLock()
	known := secrets.known
	secrets.RUnlock()
	if known {
		return
	}
	Add(inEnvironment(os.Environ())...)
	secrets.Lock()
	secrets.known = true
	secrets.Unlock()
}

// plainWord is a value that is found by chance everywhere: of "postgres" as a
// password, say, every report is full.
var plainWord = lazyregexp.New(`^[a-z]+$`)

// Environment makes the secrets known that somebody else's process has in its
// environment (NAME=value), whose output is passed on. Plain words are not: they
// come as other people's choice, and a log without them could not be read any more.
func Environment(variables []string) {
	Add(slices.DeleteFunc(inEnvironment(variables), plainWord().MatchString)...)
}

// inEnvironment finds the secrets of an environment.
func inEnvironment(variables []string) (found []string) {
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		least := leastEnv
		if strings.HasPrefix(name, ownPrefix) {
			least = leastGiven
		}
		if secretNames().MatchString(name) && len(value) >= least {
			found = append(found, value)
		}
		found = append(found, inURLs(value)...)
	}
	return found
}

// Addresses makes the passwords known that are in URLs.
func Addresses(addresses ...string) {
	for _, a := range addresses {
		Add(inURLs(a)...)
	}
}

// inURLs finds the passwords of the URLs in a text, as they are written there and as they are.
func inURLs(text string) (found []string) {
	for _, m := range inURL().FindAllStringSubmatch(text, -1) {
		found = append(found, m[2])
		if plain, err := url.PathUnescape(m[2]); err == nil {
			found = append(found, plain)
		}
	}
	return found
}

var (
	// inURL is a URL up to its host; 2 is the password.
	inURL = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@"'<>]*):([^\s/?#@"'<>]+)@`)
	// inDSN is a password of a connection string; 2 is the value.
	inDSN = lazyregexp.New(`(?i)\b((?:password|passwd|pwd)=)("[^"]*"|'[^']*'|[^\s&;,"']+)`)
)

// Text returns the text without secrets.
func Text(text string) string {
	if text == "" {
		return text
	}
	learn()
	if strings.Contains(text, "://") {
		text = inURL().ReplaceAllString(text, "${1}:"+Mask+"@")
	}
	if strings.Contains(text, "=") {
		text = inDSN().ReplaceAllStringFunc(text, func(found string) string {
			name, value, _ := strings.Cut(found, "=")
			if strings.HasPrefix(strings.Trim(value, `"'`), "$") {
				return found // the name of a variable is no secret
			}
			return name + "=" + Mask
		})
	}
	secrets.RLock()
	defer secrets.RUnlock()
	for _, v := range secrets.values {
		text = strings.ReplaceAll(text, v, Mask)
	}
	return text
}

// All is Text for each of several.
func All(texts []string) (out []string) {
	for _, t := range texts {
		out = append(out, Text(t))
	}
	return out
}
