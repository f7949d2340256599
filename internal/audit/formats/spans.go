package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// A trace has a span for each hold of a lock: it begins behind the grant, and ends
// before the release. Traces are read as OpenTelemetry, Jaeger and Zipkin write
// them in JSON, also one object a line, as the file exporter of OpenTelemetry's
// collector does. All are read alike: the paths of their spans differ.

// spansBegin is how such a file begins.
var spansBegin = lazyregexp.New(`^\{\s*"resourceSpans"\s*:|^\{\s*"data"\s*:\s*\[\s*\{\s*"(traceID|spans|processes)"|^\[[\s[]*\{(?s:.*)"traceId"(?s:.*)"localEndpoint"|^\[[\s[]*\{(?s:.*)"localEndpoint"(?s:.*)"traceId"`)

// spanColumns are the attributes by which a client is known, the best one
// first; threadColumn tells the threads of one apart.
var spanColumns = []string{"service.instance.id", "k8s.pod.name", "client-uuid", "host.name", "hostname",
	"localEndpoint.ipv4", "service.name"}

const (
	threadColumn = "thread.id"
	spanStart    = "start"
	spanEnd      = "end"
	sampleSpans  = 1000 // by which the columns are chosen
	mostSpans    = 20   // names of spans that are told
)

// traceReader reads the spans of a trace.
type traceReader struct {
	file     *File
	walk     *walkJSON
	resource map[string]string            // attributes of those that are held
	process  map[string]map[string]string // the same by the names of Jaeger's processes
	held     []heldSpan                   // of one resource, until its attributes are known
	ready    []heldSpan
	names    map[string]int
	others   int
	ended    error
}

// heldSpan is a span that may be a hold.
type heldSpan struct {
	line    int
	process string
	texts   map[string]string
}

// Spans are the spans of a trace.
const Spans Format = "spans"

func openSpans(f *File, in io.Reader) (recordReader, error) {
	s := &traceReader{file: f, walk: newWalkJSON(in, f.Name), names: map[string]int{}}
	f.What = "trace"
	s.forget()
	for _, path := range []string{"resourceSpans[].scopeSpans[].spans[]",
		"resourceSpans[].instrumentationLibrarySpans[].spans[]", "data[].spans[]"} {
		s.walk.take[path] = s.span
	}
	s.walk.take["[]"] = s.zipkin
	s.walk.take["resourceSpans[].resource"] = s.resources
	s.walk.take["data[].processes"] = s.processes
	s.walk.end["resourceSpans[]"], s.walk.end["data[]"] = s.completeHeld, s.completeHeld
	if err := s.more(sampleSpans); err != nil {
		return nil, err
	}
	return s, s.choose()
}

// choose finds the columns by the first spans.
func (s *traceReader) choose() error {
	f := s.file
	if len(s.ready) == 0 {
		return s.nameless()
	}
	if err := f.Lines.WholeHolds("unix-ns"); err != nil {
		return err
	}
	seen, g := map[string]bool{}, f.Lines.Columns
	first := &words.Sample{}
	for _, one := range s.ready {
		for name := range one.texts {
			seen[name] = true
		}
		first.Lines = append(first.Lines, one.texts)
	}
	first.Names = slices.Sorted(maps.Keys(seen))
	for at, column := range map[words.Field]string{words.FieldTime: spanStart, words.FieldEnd: spanEnd,
		words.FieldToken: words.NoColumn} {
		g.Named[at] = cmp.Or(g.Named[at], column)
	}
	if g.Named[words.FieldClient] == "" {
		if i := slices.IndexFunc(spanColumns, func(c string) bool { return seen[c] }); i >= 0 {
			g.Named[words.FieldClient] = spanColumns[i]
			if seen[threadColumn] {
				g.Named[words.FieldPart] = threadColumn
			}
			g.Chosen = g.Named
			g.Assume("The client of a span is its %s (--map client=ATTRIBUTE).", g.Column(words.FieldClient))
		}
	}
	if err := g.Choose(first); err != nil {
		return &history.SyntaxError{File: f.Name, Line: s.ready[0].line, Err: err}
	}
	return nil
}

// nameless says that no span is a hold, and which names spans have.
func (s *traceReader) nameless() error {
	if len(s.names) == 0 {
		return s.file.unlike("trace of OpenTelemetry, Jaeger or Zipkin with spans in it")
	}
	all := slices.Sorted(maps.Keys(s.names))
	if more := len(all) - mostSpans; more > 0 {
		all = append(all[:mostSpans], fmt.Sprintf("and %d more", more))
	}
	ask := "say with --span which spans are holds of a lock"
	if s.file.Options.Span != "" {
		ask = fmt.Sprintf("no span is called %q", s.file.Options.Span)
	}
	return fmt.Errorf("%s: %s; the names are: %s", s.file.Name, ask, excerpts(all))
}

// excerpts are names in a sentence.
func excerpts(names []string) string {
	var parts []string
	for _, name := range names {
		parts = append(parts, remarks.Excerpt(name))
	}
	return strings.Join(parts, ", ")
}

// more reads on until there are so many spans, or the file ends.
func (s *traceReader) more(want int) error {
	for len(s.ready) < want && s.ended == nil {
		err := s.walk.document()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			line, _ := s.walk.in.place(s.walk.in.read)
			s.file.cutShort(line)
			s.ended = io.EOF
			if err := s.completeHeld(); err != nil {
				return err
			}
		case errors.Is(err, io.EOF):
			s.ended = io.EOF
		case err != nil:
			return err
		}
	}
	return nil
}

func (s *traceReader) some(w *words.Worker) error {
	for !w.Full() {
		if err := s.more(1); err != nil {
			return err
		}
		if len(s.ready) == 0 {
			return s.ended
		}
		one := s.ready[0]
		s.ready = s.ready[1:]
		out := words.Row{Line: one.line}
		for f, column := range w.Columns.Chosen {
			if column != "" && column != words.NoColumn {
				out.Text[f] = one.texts[column]
			}
		}
		if err := w.Add(&out); err != nil {
			return err
		}
	}
	return nil
}

func (s *traceReader) tell() {
	f, g := s.file, s.file.Lines.Columns
	f.Columns = g
	f.Add(&g.Remarks)
	f.Assume("Each span %q is a whole hold: it begins behind the grant and ends before the release. None was left out by sampling.", s.file.Options.Span)
	if s.others > 0 {
		f.Leave("Spans of other names: %d; they are left out.", s.others)
	}
	if column := g.Chosen[words.FieldKey]; column == "" || column == words.NoColumn {
		f.Leave(keyless)
	}
}

// decode decodes a value of the trace.
func (s *traceReader) decode(raw []byte, line int, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return wrongRecord(s.file.Name, line, raw, err)
	}
	return nil
}

// span reads a span of any form.
func (s *traceReader) span(raw []byte, line int) error {
	var in spanJSON
	if err := s.decode(raw, line, &in); err != nil {
		return err
	}
	name := cmp.Or(in.Name, in.OperationName)
	if len(s.names) < 10*mostSpans {
		s.names[name]++
	}
	if name != s.file.Options.Span || name == "" {
		s.others++
		return nil
	}
	texts, err := in.texts()
	if err != nil {
		return wrongRecord(s.file.Name, line, raw, err)
	}
	s.held = append(s.held, heldSpan{line: line, process: in.ProcessID, texts: texts})
	return nil
}

// zipkin reads an element of Zipkin's list: a span, or a list of those of a trace.
func (s *traceReader) zipkin(raw []byte, line int) error {
	if raw[0] != '[' {
		return cmp.Or(s.span(raw, line), s.completeHeld())
	}
	var all []json.RawMessage
	if err := s.decode(raw, line, &all); err != nil {
		return err
	}
	at := inRaw{raw: raw, line: line}
	for _, one := range all {
		if err := s.span(one, at.of(one)); err != nil {
			return err
		}
	}
	return s.completeHeld()
}

func (s *traceReader) resources(raw []byte, line int) error {
	var in struct {
		Attributes []attribute `json:"attributes"`
	}
	if err := s.decode(raw, line, &in); err != nil {
		return err
	}
	for _, a := range in.Attributes {
		a.put(s.resource)
	}
	return nil
}

func (s *traceReader) processes(raw []byte, line int) error {
	var in map[string]processJSON
	if err := s.decode(raw, line, &in); err != nil {
		return err
	}
	for name, p := range in {
		s.process[name] = map[string]string{}
		p.put(s.process[name])
	}
	return nil
}

// completeHeld gives the spans that are held the attributes of their resource, now
// that these have been read.
func (s *traceReader) completeHeld() error {
	for _, one := range s.held {
		for _, of := range []map[string]string{s.process[one.process], s.resource} {
			for name, v := range of {
				if _, own := one.texts[name]; !own {
					one.texts[name] = v
				}
			}
		}
		s.ready = append(s.ready, one)
	}
	s.forget()
	return nil
}

func (s *traceReader) forget() {
	s.held, s.resource, s.process = nil, map[string]string{}, map[string]map[string]string{}
}
