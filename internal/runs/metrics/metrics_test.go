package metrics

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
)

// shown is what a set says at an address.
func shown(t *testing.T, at string) string {
	t.Helper()
	r, err := http.Get("http://" + at + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
	return string(text)
}

// count counts a run with one grant, one violation, a fault that is over and one that is not.
func count(s *Set) *Run {
	r := s.Begin()
	fault := func(id int, phase string) {
		r.Event(&history.Event{Type: history.Fault, Fault: &history.FaultInfo{ID: id, Kind: "pause", Phase: phase, Injected: true}})
	}
	fault(1, "begin")
	fault(1, "end")
	fault(2, "begin")
	// nobody injected it
	r.Event(&history.Event{Type: history.Fault, Fault: &history.FaultInfo{ID: 3, Kind: "stall", Phase: "begin"}})
	r.Event(&history.Event{Type: history.Invoke, Kind: history.Acquire})
	r.Event(&history.Event{Type: history.OK, Kind: history.Acquire, Start: 1, End: 1 + int64(3*time.Millisecond)})
	r.Violation(checker.Violation{Property: checker.MutualExclusion})
	return r
}

func TestWhatIsServed(t *testing.T) {
	s := New().OfLog()
	at, stop, err := s.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := count(s)
	s.Line(LineRead)
	s.Line(LineBad)
	s.Log(7, time.Second)
	wants := func(lines ...string) {
		t.Helper()
		text := shown(t, at)
		for _, want := range lines {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("it does not say %s:\n%s", want, text)
			}
		}
	}
	wants(`lockchaos_grants_total 1`, `lockchaos_acquire_seconds_sum 0.003`,
		`lockchaos_violations_total{property="mutual-exclusion"} 1`, `lockchaos_faults{kind="pause"} 1`,
		`lockchaos_lines_total{what="bad"} 1`, `lockchaos_lines_total{what="read"} 1`, `lockchaos_live_lines 7`, `lockchaos_lag_seconds 1`)
	r.End()
	wants(`lockchaos_faults{kind="pause"} 0`)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Serve("127.0.0.1:-1"); err == nil {
		t.Error("served at no port")
	}
}

// TestWhatIsSent: a collector has the last figures when the set is no longer served.
func TestWhatIsSent(t *testing.T) {
	var got bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var in io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(in)
			if err != nil {
				t.Error(err)
				return
			}
			in = unpacked
		}
		if r.URL.Path != "/v1/metrics" {
			t.Errorf("sent to %s", r.URL.Path)
		}
		if _, err := io.Copy(&got, in); err != nil {
			t.Error(err)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	s := New()
	_, stop, err := s.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count(s).End()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lockchaos_grants_total", "lockchaos_acquire_seconds", checker.MutualExclusion} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("the collector was not told of %s", want)
		}
	}
}

// TestNothingIsCounted: who wants no metrics hands in nothing.
func TestNothingIsCounted(t *testing.T) {
	var none *Set
	count(none).End()
	none.Line(LineRead)
	none.Log(1, 0)
}

// TestHostileHost: a page of another site can't read the figures, also not
// under a name of its own that leads here.
func TestHostileHost(t *testing.T) {
	at, stop, err := New().Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	for _, c := range []struct {
		host, site string
		want       int
	}{{at, "", 200}, {"localhost:9464", "", 200}, {"[::1]:9464", "none", 200}, {"evil.example:9464", "", 403},
		{"10.0.0.7", "", 403}, {"", "cross-site", 403}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%+v: %s", c, answer.Status)
		}
	}
}
