package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// The most that a page carries of its raw data, so that it stays below 2 MB: a
// history of more events is not even tried, for it would not fit.
const (
	attachEvents = 60_000
	attachBytes  = 800_000
)

// attach lists what a page carries: the history, compressed, where it is short
// enough, the verdict, and what the scenario brings. Each is an address that
// holds its data (RFC 2397), so no request is needed to get it.
func attach(s reports.Scenario) []fileLink {
	if s.Skipped != "" {
		return nil
	}
	var out []fileLink
	room := attachBytes
	add := func(name, note string, write func(io.Writer) error) bool {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
		if write(z) != nil || z.Close() != nil || b.Len() > room*3/4 {
			return false
		}
		text := base64.StdEncoding.EncodeToString(b.Bytes())
		room -= len(text)
		out = append(out, fileLink{Data: template.URL("data:application/gzip;base64," + text), Name: name, Note: note})
		return true
	}
	add("verdict.json", "", func(w io.Writer) error { return reports.WriteVerdict(w, s) })
	for _, a := range s.Attached {
		add(phrase.Clip(strings.ReplaceAll(a.Name, "/", "."), phrase.MostName), "", func(w io.Writer) error {
			_, err := w.Write(a.Data)
			return err
		})
	}
	if s.History != nil && len(s.History.Events) <= attachEvents {
		add("history.jsonl", phrase.Plural(s.Verdict.Stats.Ops, "op"), s.History.Encode)
	}
	return out
}
