package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
)

// Leases in YAML, as `kubectl get lease -w -o yaml` prints them: documents between lines of ---.

// yamlLease is how such a file begins.
var yamlLease = lazyregexp.New(`^(---\s+)?apiVersion: (?s:.*)\nkind: (Lease(List)?|List)\s`)

// newLeaseDocuments reads JSON or YAML.
func newLeaseDocuments(f *File, from io.Reader) *documents {
	in := bufio.NewReaderSize(from, 1<<16)
	if head, _ := in.Peek(in.Size()); !yamlLease().Match(head) {
		return newDocuments(f, in)
	}
	d, last := &documents{file: f}, 0
	d.read = func() error {
		text, line, err := yamlDocument(in, &last)
		if err != nil || len(text) == 0 {
			return err
		}
		var value any
		if err = strictyaml.Decode(text, &value); err == nil {
			d.raw, err = json.Marshal(value)
		}
		if d.line = line; err != nil {
			return wrongRecord(f.Name, line, text,
				fmt.Errorf("no YAML that is read here (kubectl also prints JSON: -o json): %w", err))
		}
		return nil
	}
	return d
}

// yamlDocument reads up to the next line of ---, and returns where it began.
// last is the last line that was read.
func yamlDocument(in *bufio.Reader, last *int) (text []byte, line int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			*last++
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, *last, err
		}
		border := bytes.HasPrefix(part, []byte("---")) && len(bytes.TrimSpace(part)) == 3
		if !border && (len(text) > 0 || len(bytes.TrimSpace(part)) > 0) {
			if len(text) == 0 {
				line = *last
			}
			text = append(text, part...)
		}
		switch {
		case len(text) > strictyaml.Most:
			return nil, line, fmt.Errorf("line %d: a document of more than %d bytes", line, strictyaml.Most)
		case len(text) > 0 && (border || errors.Is(err, io.EOF)):
			return text, line, nil
		case errors.Is(err, io.EOF):
			return nil, line, io.EOF
		}
	}
}
