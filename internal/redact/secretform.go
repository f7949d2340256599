package redact

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// value is a value on a command line, quoted or not.
const value = `("[^"]*"|'[^']*'|[^\s"';&|)-][^\s"';&|)]*)`

// secretForm is a way in which a command line says that a value is a secret.
type secretForm struct {
	in    lazyregexp.Regexp
	group int // where the value is
	// secret reports whether the value is one; nil: whatever it is.
	secret func(value, command string) bool
}

// secretForms are all ways. Where a name says that its value is a password, every
// value is one. Where it may also be something else (--token fencing,
// --private-key FILE), it depends on what the value looks like.
var secretForms = []secretForm{
	{in: inURL, group: 2},
	{in: inDSN, group: 2},
	{in: named(`[a-z0-9_-]*(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key)|(?:[a-z0-9_-]*[_-])?pass`),
		group: 1},
	{in: named(`(?:[a-z0-9_-]*[_-])?(?:pwd|pw|tokens?|auth|private[_-]?key|credentials?|creds?|bearer)`), group: 1,
		secret: looksSecret},
	{in: lazyregexp.New(`(?:^|\s)-a(?:=|\s+)` + value), group: 1, secret: afterA},
	{in: lazyregexp.New(`(?i)\bauthorization\s*[:=]\s*(?:[a-z]+\s+)?([^\s"';&|)]+)`), group: 1, secret: noScheme},
	{in: lazyregexp.New(`(?i)\bbearer\s+([^\s"';&|)]+)`), group: 1, secret: looksSecret},
	{in: issued, group: 1},
}

// named is the form of an option, an assignment or a header with a name.
func named(names string) lazyregexp.Regexp {
	return lazyregexp.New(`(?i)(?:^|[\s;&|("'])(?:--?)?(?:` + names + `)(?:=|:\s+|\s+)` + value)
}

// issued are secrets that are known by themselves: keys and tokens of GitHub,
// GitLab, Slack, AWS, Google, npm and the like, and JSON web tokens.
var issued = lazyregexp.New(`\b(gh[a-z]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}|npm_\w{30,}|sk[-_][\w-]{20,}|hv[sb]\.[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)`)

// plain is a value that is no secret: words (fencing, from_invocation), a
// number or a time, a host, an address, a path, a file.
var plain = lazyregexp.New(`^(?:[A-Za-z]{1,19}(?:[-_.][A-Za-z]{1,19})*(?:-[0-9]{1,3})?|[0-9.:]+(?:ns|us|ms|s|m|h)?|[A-Za-z0-9._-]+:[0-9]+|~?\.{0,2}/.*|[\w./-]+\.(?:pem|key|crt|json|ya?ml|toml|conf|ini|txt))$`)

// looksSecret reports whether a value looks like a secret.
func looksSecret(value, _ string) bool {
	return len(value) >= leastEnv && !plain().MatchString(value)
}

// afterA is for the option -a, which is the password of redis-cli and
// valkey-cli, and anything else elsewhere.
func afterA(value, command string) bool {
	return strings.Contains(command, "redis-cli") || strings.Contains(command, "valkey-cli") ||
		looksSecret(value, command)
}

// noScheme is for what follows "Authorization:". Only the scheme may do so,
// where the secret has been taken out.
func noScheme(value, _ string) bool {
	return !slices.Contains([]string{"basic", "bearer", "digest", "negotiate", "token"}, strings.ToLower(value))
}

// taken is what stands where Command has taken out a secret.
var taken = lazyregexp.New(`["']*\$\{` + ownPrefix + `[0-9]+\}["']*`)

// formed finds what a command line says to be a secret.
func formed(command string) (found []span) {
	references := taken().FindAllStringIndex(command, -1)
	for _, f := range secretForms {
		for _, m := range f.in().FindAllStringSubmatchIndex(command, -1) {
			s := span{m[2*f.group], m[2*f.group+1]}
			within := func(r []int) bool { return s.from < r[1] && r[0] < s.to }
			if slices.ContainsFunc(references, within) {
				continue
			}
			if f.secret == nil || f.secret(strings.Trim(command[s.from:s.to], `"'`), command) {
				found = append(found, s)
			}
		}
	}
	return found
}
