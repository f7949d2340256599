package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

const secret = "this must not be read"

// folder makes runs, and things around them that nobody may read.
func folder(t *testing.T) string {
	t.Helper()
	above := t.TempDir()
	root := filepath.Join(above, "runs")
	write := func(name, text string) { put(t, root, name, text) }
	write("../secret.txt", secret)
	write("old/run.json", `{"suite":"quick","seed":7,"started":"2026-11-20T10:00:00Z","elapsed_ns":9000000000,"scenarios":[{"name":"a/<script>alert(1)</script>","dir":"a","state":"ended","result":"corrupted","elapsed_ns":5}]}`)
	write("old/index.html", "<h1>index</h1>")
	write("old/a/report.html", "<h1>report</h1>")
	write("old/a/history.jsonl", "{}\n")
	write("old/a/logs/program.html.exe", secret)
	write("old/.hidden/run.json", `{"suite":"`+secret+`"}`)
	write("new/run.json", record1("running", "", 0))
	write("again/repeat.json", `{"suite":"mine","started":"2026-11-19T10:00:00Z","elapsed_ns":5,"wanted":2,"runs":[{"seed":7,"dir":"seed-7"}],"scenarios":[{"name":"b","trials":[{"dir":"seed-7/b","result":"pass"},{"result":"violated"}]}]}`)
	write("again/seed-7/run.json", record1("ended", "pass", 5))
	write("again/seed-7/b/report.html", "<h1>report</h1>")
	write("measured/curve.json", `{"lock":"redis-setnx","fault":"pause-holder","started":"2026-11-18T10:00:00Z","elapsed_ns":5,"runs":20}`)
	write("broken/run.json", `{"suite":`)
	for link, to := range map[string]string{"out": "../secret.txt", "old/away": "../../secret.txt",
		"old/away.txt": "../../secret.txt", "outside": "..", "latest": "old"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "old", "pipe.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// put writes a file below a folder.
func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// record1 is a run.json of one scenario.
func record1(state, result string, elapsed int) string {
	return fmt.Sprintf(`{"suite":"slow","seed":1,"started":"2026-11-21T10:00:00Z","elapsed_ns":%d,"scenarios":[{"name":"b","dir":"b","state":%q,"result":%q}]}`, elapsed, state, result)
}

// started serves a folder, and returns its address.
func started(t *testing.T, root string) string {
	t.Helper()
	s, err := New(root)
	if err != nil {
		t.Fatal(err)
	}
	s.Loopback, s.board.every = true, 5*time.Millisecond
	return serving(t, s)
}

// serving lets a server answer until the test ends, and returns its address.
func serving(t testing.TB, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving ended with %v", err)
		}
		s.Close()
	})
	return l.Addr().String()
}

// raw sends a request as it is written: clients clean paths before they send them.
func raw(t *testing.T, addr, method, target, host string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method, target, host)
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return r, string(body)
}

// Nothing outside the folder can be read, however it is asked for.
func TestNothingOutsideTheFolder(t *testing.T) {
	addr := started(t, folder(t))
	up := []string{"..", "%2e%2e", "%2E%2e", ".%2e", "%252e%252e", "..%00", "%c0%ae%c0%ae", "..;"}
	var targets []string
	for _, dots := range up {
		for _, slash := range []string{"/", "%2f", "%5c", `\`, "//"} {
			for _, prefix := range []string{"/", "/files/", "/files/old/", "/run/", "/events/"} {
				targets = append(targets, prefix+dots+slash+dots+slash+"etc/passwd", prefix+dots+slash+"secret.txt", prefix+dots)
			}
		}
	}
	targets = append(targets, "/etc/passwd", "//etc/passwd", "/files//etc/passwd", "/files/out", "/files/old/away",
		"/files/old/away.txt", "/files/outside/secret.txt", "/files/latest/../../secret.txt",
		"/run/outside", "/events/outside", "/files/old/.hidden/run.json", "/run/old/.hidden",
		"/files/old/a/logs/program.html.exe", "/files/old", "/files/old/", "/files/old/a", "/files/old/pipe.txt", "/files",
		"/files/", "/run", "/run/", "/run/none", "/events/none", "/run/old/a/b", "/nothing", "/index.html",
		"http://127.0.0.1/../secret.txt", "/files/old/"+strings.Repeat("a", 5000))
	for _, target := range targets {
		r, body := raw(t, addr, "GET", target, "localhost")
		if r.StatusCode != http.StatusNotFound && r.StatusCode != http.StatusBadRequest ||
			strings.Contains(body, secret) || strings.Contains(body, "root:") {
			t.Errorf("GET %s: %s: %.80q", target, r.Status, body)
		}
		if r.Header.Get("Location") != "" {
			t.Errorf("GET %s leads to %s", target, r.Header.Get("Location"))
		}
	}
	for _, target := range []string{"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd"} {
		if r, _ := raw(t, addr, "GET", target, "localhost"); r.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: %s, want 404", target, r.Status)
		}
	}
}

func TestOnlyReads(t *testing.T) {
	root := folder(t)
	addr := started(t, root)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "MKCOL"} {
		if r, _ := raw(t, addr, method, "/files/old/index.html",
			"localhost"); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s", method, r.Status)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "old", "index.html")); err != nil {
		t.Error(err)
	}
}

// A foreign name that was pointed at this machine is refused.
func TestAnswersToThisMachineAlone(t *testing.T) {
	addr := started(t, folder(t))
	for host, want := range map[string]int{"localhost": 200, "localhost:8765": 200, "127.0.0.1:1": 200, "[::1]:80": 200,
		"evil.example": 403, "127.0.0.1.evil.example": 403, "10.0.0.1": 403, "": 403} {
		if r, _ := raw(t, addr, "GET", "/", host); r.StatusCode != want {
			t.Errorf("host %q: %s", host, r.Status)
		}
	}
}

func TestShowsRunsAndReports(t *testing.T) {
	addr := started(t, folder(t))
	r, body := raw(t, addr, "GET", "/", "localhost")
	if r.StatusCode != http.StatusOK {
		t.Fatal(r.Status)
	}
	last := 0
	// the newest first
	for _, run := range []string{"/run/new", "/run/old", "/run/again", "/run/measured"} {
		at := strings.Index(body, `href="`+run+`"`)
		if at < last {
			t.Errorf("%s is missing, or out of order", run)
		}
		last = at
	}
	for _, no := range []string{"/run/broken", "/run/latest", "hidden/", secret} {
		if strings.Contains(body, no) {
			t.Errorf("%s is listed", no)
		}
	}
	for target, want := range map[string]string{
		"/run/old":                 "&lt;script&gt;alert(1)&lt;/script&gt;",
		"/run/latest":              `href="/files/latest/a/report.html"`,
		"/run/again":               `href="/run/again/seed-7"`,
		"/run/again?":              `href="/files/again/seed-7/b/report.html"`,
		"/":                        `>1 pass</span><span class="pill v">1 violated</span>`,
		"/run/again/seed-7":        "pass",
		"/run/new":                 ">running</span>",
		"/files/old/index.html":    "<h1>index</h1>",
		"/files/old/a/report.html": "<h1>report</h1>",
	} {
		r, body := raw(t, addr, "GET", target, "localhost")
		if r.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("GET %s: %s, without %q", target, r.Status, want)
		}
		csp := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") ||
			strings.HasPrefix(target, "/files/") != strings.HasPrefix(csp, "sandbox allow-scripts allow-downloads;") ||
			!strings.Contains(csp, "frame-ancestors 'none'") || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s: headers %v", target, r.Header)
		}
		if strings.HasPrefix(target, "/run/") && (strings.Contains(body, "<script>alert") ||
			strings.Contains(csp, "script-src 'unsafe-inline'")) {
			t.Errorf("GET %s lets foreign scripts run", target)
		}
	}
	if r, body := raw(t, addr, "GET", "/files/old/a/history.jsonl",
		"localhost"); r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || body != "{}\n" {
		t.Errorf("a history is %s", r.Header.Get("Content-Type"))
	}
}

// Who follows a run is told when it changes, and let go when the server ends.
func TestFollowsARun(t *testing.T) {
	root := folder(t)
	addr := started(t, root)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/events/new", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if got := r.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	lines := bufio.NewScanner(r.Body)
	next := func() (html string, over bool) {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var message struct {
					HTML string
					Over bool
				}
				if err := json.Unmarshal([]byte(text), &message); err != nil {
					t.Error(err)
				}
				return message.HTML, message.Over
			}
		}
		t.Fatal(lines.Err())
		return "", false
	}
	expect := func(state, scenario string) {
		t.Helper()
		if got, over := next(); over || !strings.Contains(got, `id="state" class="pill `+class(state)+`">`+state+`<`) ||
			!strings.Contains(got, `<span><span class="pill `+class(scenario)+`">`+scenario+`<`) {
			t.Errorf("%s", got)
		}
	}
	expect(running, running)
	replace := func(text string) {
		file := filepath.Join(root, "new", "run.json")
		if err := os.WriteFile(file+".next", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".next", file); err != nil {
			t.Fatal(err)
		}
	}
	replace(record1("ended", "pass", 0))
	expect(running, "pass")
	replace(record1("ended", "violated", 99))
	expect("violated", "violated")
	if err := os.WriteFile(filepath.Join(root, "new", "index.html"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, over := next(); !over || !strings.Contains(got, `href="/files/new/index.html"`) {
		t.Errorf("with its report it is over: %s", got)
	}
}

// A run that was killed is not said to be running for ever.
func TestSilentRuns(t *testing.T) {
	root := os.DirFS(folder(t))
	now := time.Now()
	for late, want := range map[time.Duration]string{0: running, 2 * silence: silent} {
		run, err := read(root, "new", now.Add(late))
		if err != nil || run.State != want {
			t.Errorf("after %v: %s, %v", late, run.State, err)
		}
	}
	if run, err := read(root, "old", now.Add(time.Hour)); err != nil || run.State != ended {
		t.Errorf("%+v, %v", run, err)
	}
}

// How long a history is, is told of one that has been compressed as well.
func TestCompressedHistories(t *testing.T) {
	root := fstest.MapFS{"r/run.json": {Data: []byte(record1("ended", "pass", 5))}, "r/b/history.jsonl.zst": {Data: make([]byte, 321)}}
	if run, err := read(root, "r", time.Now()); err != nil || len(run.Scenarios) != 1 || run.Scenarios[0].Bytes != 321 {
		t.Errorf("%+v, %v", run, err)
	}
}

// Those who follow are bounded.
func TestFollowersAreBounded(t *testing.T) {
	s, err := New(folder(t))
	if err != nil {
		t.Fatal(err)
	}
	s.streams = make(chan struct{}, 1)
	s.streams <- struct{}{}
	addr := serving(t, s)
	if r, _ := raw(t, addr, "GET", "/events", "localhost"); r.StatusCode != http.StatusServiceUnavailable {
		t.Error(r.Status)
	}
}

// Who asks in the moment in which a record is written follows the run as everybody does.
func TestFollowsARunWhoseRecordIsBeingWritten(t *testing.T) {
	root := folder(t)
	addr := started(t, root)
	r, err := http.Get("http://" + addr + "/events/broken") // its record ends in the middle
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatal(r.Status)
	}
	if err := os.WriteFile(filepath.Join(root, "broken", "run.json"), []byte(record1("running", "", 0)), 0o644); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if !strings.Contains(text, `>running</span>`) {
				t.Error(text)
			}
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// Who has the page that is followed is sent nothing until it is another one,
// also after a connection that broke.
func TestSendsOnlyNews(t *testing.T) {
	root := folder(t)
	addr := started(t, root)
	for name, ask := range map[string]func(*http.Request, string){
		"a page":              func(r *http.Request, have string) { r.URL.RawQuery = "have=" + have },
		"a broken connection": func(r *http.Request, have string) { r.Header.Set("Last-Event-ID", have) },
	} {
		if err := os.WriteFile(filepath.Join(root, "new", "run.json"), []byte(record1("running", "", 0)), 0o644); err != nil {
			t.Fatal(err)
		}
		var have string
		for have == "" { // the record that was just written may not be seen yet
			_, body := raw(t, addr, "GET", "/", "localhost")
			if row := body[strings.Index(body, `id="r-new"`):]; strings.Contains(row[:strings.Index(row, "</tr>")], ">running</span>") {
				_, after, _ := strings.Cut(body, `data-have="`)
				have, _, _ = strings.Cut(after, `"`)
			}
		}
		r, err := http.NewRequest(http.MethodGet, "http://"+addr+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		ask(r, have)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		if !lines.Scan() || lines.Text() != ": still here" {
			t.Errorf("%s: at first it is sent %.100q", name, lines.Text())
		}
		if err := os.WriteFile(filepath.Join(root, "new", "run.json"), []byte(record1("ended", "contained", 5)), 0o644); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if !strings.Contains(text, ">contained</span>") {
					t.Errorf("%s: %.300s", name, text)
				}
				break
			}
		}
	}
}
