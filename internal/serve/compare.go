package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/studies"
)

// The bounds of what is read of one run to compare it: one verdict, and all of them.
const (
	mostVerdict  = 32 << 20
	mostVerdicts = 256 << 20
)

// errUncomparable is a folder whose runs can't be set beside others.
var errUncomparable = errors.New("it can't be compared")

// compare sends two runs side by side, the earlier one first. It reads what they have
// saved, their verdicts, and judges nothing anew: a history could be of any length.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	dirs := r.URL.Query()["run"]
	if len(dirs) != 2 {
		http.Error(w, "choose two runs to compare: /compare?run=A&run=B", http.StatusBadRequest)
		return
	}
	select {
	case s.comparing <- struct{}{}:
		defer func() { <-s.comparing }()
	case <-r.Context().Done():
		return
	}
	var suites [2]reports.Suite
	for i, dir := range dirs {
		var err error
		if suites[i], err = savedSuite(outside.FS(s.root), dir); err != nil {
			status := http.StatusNotFound
			if errors.Is(err, errUncomparable) {
				status = http.StatusBadRequest
			}
			http.Error(w, "compare "+clip(dir)+": "+err.Error(), status)
			return
		}
	}
	if suites[1].Started.Before(suites[0].Started) {
		suites[0], suites[1], dirs[0], dirs[1] = suites[1], suites[0], dirs[1], dirs[0]
	}
	var b bytes.Buffer
	if err := page.WriteComparison(&b, studies.Compare(suites[0], suites[1]), path.Join("files", dirs[0]),
		path.Join("files", dirs[1])); err != nil {
		http.Error(w, "compare: "+err.Error(), http.StatusInternalServerError)
		return
	}
	s.sandbox(w.Header()) // all that it tells is from the runs
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // who has gone need not be told
}

// savedSuite reads what a run has saved of itself.
func savedSuite(root fs.FS, dir string) (reports.Suite, error) {
	segments := strings.Split(dir, "/")
	for _, segment := range segments {
		if !plainName(segment) || len(segments) > 2 {
			return reports.Suite{}, errors.New("it is no folder of a run")
		}
	}
	if file, kind := kindOf(root, dir); kind == "" {
		return reports.Suite{}, errors.New("it is no folder of a run")
	} else if kind != "run" {
		return reports.Suite{}, fmt.Errorf("%w: %s is not the record of one run. Of a repetition, choose one of its runs", errUncomparable, path.Base(file))
	}
	text, err := bounded(root, path.Join(dir, "run.json"), reports.MostRecord)
	var rec struct {
		record
		About   string `json:"about"`
		Command string `json:"command"`
		Runtime string `json:"runtime"`
		Version string `json:"lockchaos"`
	}
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err != nil {
		return reports.Suite{}, fmt.Errorf("%w: read run.json: %w", errUncomparable, err)
	}
	suite := reports.Suite{Name: rec.Suite, About: rec.About, Command: rec.Command, Runtime: rec.Runtime,
		Version: rec.Version, Seed: rec.Seed, Started: rec.Started, Elapsed: rec.Elapsed}
	left := int64(mostVerdicts)
	for _, one := range rec.Scenarios {
		suite.Scenarios = append(suite.Scenarios, savedVerdict(root, dir, one, &left))
	}
	return suite, nil
}

// savedVerdict is what one scenario came to. One whose verdict can't be read
// has failed, as far as can be told.
func savedVerdict(root fs.FS, dir string, rec scenarioRecord, left *int64) (sc reports.Scenario) {
	err := fs.ErrNotExist
	if scenarioFolder(rec.Dir) {
		var text []byte
		if text, err = bounded(root, path.Join(dir, rec.Dir, "verdict.json"), min(mostVerdict, *left)); err == nil {
			*left -= int64(len(text))
			err = json.Unmarshal(text, &sc)
		}
	}
	if err != nil {
		sc = reports.Scenario{} // half of a verdict is none
	}
	if sc.Dir = ""; scenarioFolder(rec.Dir) {
		sc.Dir = rec.Dir
	}
	sc.Name, sc.Elapsed = rec.Name, rec.Elapsed
	switch {
	case err == nil:
	case rec.Skipped != "":
		sc.Skipped = rec.Skipped
	case rec.Failed != "":
		sc.Failed = rec.Failed
	case errors.Is(err, fs.ErrNotExist):
		sc.Failed = "no verdict was saved: the run had not come so far"
	default:
		sc.Failed = "its verdict can't be read: " + err.Error()
	}
	return sc
}
