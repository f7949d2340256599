package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// sample reads what the beginning of a CSV file holds.
func (r *csvRows) sample(head []byte) *words.Sample {
	s := &words.Sample{Names: slices.Clone(r.names), Fixed: true}
	head = whole(head)
	_, in, _ := r.parse(head, false) // the names
	for head = head[in.InputOffset():]; len(head) > 0; {
		record, _, n, err := r.next(head)
		if err == nil && !r.headsAgain(head[:n]) { // of others the reader of the file tells
			s.Add(record)
		}
		head = head[n:]
	}
	return s
}

// whole leaves out a last line that the end of the buffer may have cut.
func whole(head []byte) []byte {
	if len(head) < DetectBytes {
		return head
	}
	return head[:bytes.LastIndexByte(head, '\n')+1]
}

// sampleJSON reads what the objects at the beginning of a file hold; a member
// of a member is a column with a path.
func sampleJSON(head []byte) *words.Sample {
	s := &words.Sample{}
	if first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n")); banner(first) && !beginsList().Match(first) ||
		someObject(first) || afterTornLine(bytes.TrimSpace(head)) != nil {
		head = objects(head)
	}
	f := newValues(bufio.NewReader(bytes.NewReader(head)), "", false)
	names := map[string]bool{}
	for {
		one, err := f.next()
		if err != nil {
			break
		}
		var m map[string]any
		if decodeJSON(f, one, &m) != nil {
			break
		}
		line := map[string]string{}
		flatten(line, "", m)
		for name := range line {
			names[name] = true
		}
		s.Lines = append(s.Lines, line)
	}
	s.Names = slices.Sorted(maps.Keys(names))
	return s
}

// objects are the lines that are an object each.
func objects(head []byte) (lines []byte) {
	for line := range bytes.Lines(head) {
		if someObject(line) {
			lines = append(lines, line...)
		}
	}
	return lines
}

// flatten puts the members of an object under their paths.
func flatten(line map[string]string, path string, m map[string]any) {
	for name, v := range m {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			flatten(line, path+name+".", v)
		case []any:
			text, _ := json.Marshal(v) // what was JSON is JSON again
			line[path+name] = string(text)
		default:
			line[path+name] = strings.TrimSpace(fmt.Sprint(v))
		}
	}
}
