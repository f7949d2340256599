package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// DetectBytes is how many bytes of a file Detect looks at, at most.
const DetectBytes = 1 << 16

// ErrUnknownFormat is the error of Detect for a file of which neither its first
// bytes nor its name tell the format.
var ErrUnknownFormat = func() error {
	names := []string{string(Native)}
	for i := range all {
		if name := all[i].format; name != Text { // which --pattern is for
			names = append(names, string(name))
		}
	}
	last := len(names) - 1
	return fmt.Errorf("no format that is known: say which one it is with --format %s or %s",
		strings.Join(names[:last], ", "), names[last])
}()

// Detect tells the format of a history from its first bytes, and where they leave it open
// from the extension of its name. mapped tells that the user named columns, so it is a log.
func Detect(head []byte, name string, mapped bool) (Format, error) {
	text := bytes.TrimLeft(head, " \t\r\n\f\ufeff")
	ext := strings.ToLower(filepath.Ext(name))
	for i := range all {
		if begins := all[i].begins; begins != nil && begins(text) {
			return all[i].format, nil
		}
	}
	if rest := afterTornLine(text); rest != nil {
		return Detect(rest, name, mapped)
	}
	if yamlObject().Match(text) {
		return "", errYAML
	}
	switch {
	case ext == ".edn" || beginsEDN().Match(text):
		return Jepsen, nil
	case len(text) == 0:
		return Native, nil // it says that the file is empty
	case text[0] == '{', beginsList().Match(text):
		return detectJSON(text, mapped), nil
	case someObject(text), prefixedLines(text):
		return JSON, nil
	}
	line, _, _ := bytes.Cut(text[beforeHeading(text):], []byte("\n"))
	if ext == ".csv" || ext == ".tsv" || mapped || bytes.ContainsAny(line, ",;\t") && looksLikeHeader(string(line)) {
		return CSV, nil
	}
	return "", &UnknownFormat{suggest(head)}
}

// yamlObject is how an object of Kubernetes in YAML begins.
var yamlObject = lazyregexp.New(`^(---\s+)?apiVersion: `)

var errYAML = errors.New("an object of Kubernetes in YAML that is no Lease: only Leases say who holds a lock")

// beginsList is how a list of objects in JSON begins. A bracket alone may begin a line of text.
var beginsList = lazyregexp.New(`^\[[ \t\r\n]*(\{|\]|$)`)

// someObject reports whether some line is an object in JSON.
func someObject(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' && json.Valid(line) {
			return true
		}
	}
	return false
}

// beginsEDN is how EDN begins, and neither JSON nor a log does.
var beginsEDN = lazyregexp.New(`^(\{:|\(|;|#jepsen|\[[\[ \t\r\n]*(\{:|#))`)

// detectJSON tells which JSON it is from the members of the first object, though it may be cut.
func detectJSON(text []byte, mapped bool) Format {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(text, "[ \t\r\n")))
	members := map[string]bool{}
	depth, member := 0, false
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else if depth--; depth == 0 {
				return jsonFormat(members, mapped)
			}
			member = depth == 1
		case string:
			if depth == 1 && member {
				members[words.Plain(token)] = true
			}
			member = depth == 1 && !member
		default:
			member = depth == 1
		}
	}
	return jsonFormat(members, mapped)
}

func jsonFormat(members map[string]bool, mapped bool) Format {
	switch {
	case members["lockchaos"]:
		return Native
	case mapped:
		return JSON
	case members["call"] && members["input"] || members["kind"] && members["id"] && members["value"]:
		return Porcupine
	case members["type"] && members["f"] && members["process"]:
		return Jepsen
	case members["type"] && members["t"] || len(members) == 0:
		return Native // a piece of one, which says what is wrong
	}
	return JSON
}

// looksLikeHeader reports whether a line names a column for the time.
func looksLikeHeader(line string) bool {
	names := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ';' || r == '\t' })
	times := 0
	for _, name := range names {
		name = strings.Trim(name, "\" \r\n")
		if name != "" && !columnName().MatchString(name) {
			return false
		}
		if words.NamesTime(name) {
			times++
		}
	}
	return times > 0
}

// columnName is what the name of a column looks like, other than what a line of a log holds.
var columnName = lazyregexp.New(`^[\pL_@#$][\pL\pN_@#$%./ ()-]*$`)
