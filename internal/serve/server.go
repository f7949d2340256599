package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/harmless/requests"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/reports/page"
)

// Server answers for one folder.
type Server struct {
	root *os.Root
	// Loopback: only requests to a name of this machine's own are answered.
	Loopback bool
	board    *board
	// comparing is held by who compares: one at a time.
	comparing chan struct{}
	// scripts are the sources of the scripts that may run on pages of runs.
	scripts string
	// streams bounds those who follow at once.
	streams chan struct{}
}

// never is the version of a page that was not seen.
const never = ^uint64(0)

// mostStreams is how many may follow at once.
const mostStreams = 64

// New opens the folder.
func New(folder string) (*Server, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder of runs: %w", err)
	}
	b := &board{root: root, every: 500 * time.Millisecond, single: map[string]*single{}}
	return &Server{root: root, board: b, scripts: page.Scripts(), comparing: make(chan struct{}, 1),
		streams: make(chan struct{}, mostStreams)}, nil
}

// Close lets go of the folder.
func (s *Server) Close() error { return s.root.Close() }

// Serve answers on the listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 16,
		// those who follow end with it
		BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		err := srv.Shutdown(last)
		if err != nil {
			err = srv.Close()
		}
		stopped <- err
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}

// ServeHTTP answers one request. It does not use http.ServeMux, which answers a
// path that leads elsewhere by sending the client to another one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if requests.Refused(w, r, s.Loopback) {
		return
	}
	segments, ok := segments(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	place, within := "", segments
	if len(segments) > 0 {
		place, within = segments[0], segments[1:]
	}
	for _, to := range routes {
		if to.place == place && len(within) >= to.least && len(within) <= to.most {
			to.answer(s, w, r, path.Join(within...))
			return
		}
	}
	http.NotFound(w, r)
}

// mostSegments is more than any path has.
const mostSegments = 1 << 20

// routes are the places of the server: the first segment of a path, and how many may follow, which
// name a folder or a file of the runs.
var routes = []struct {
	place       string
	least, most int
	answer      func(s *Server, w http.ResponseWriter, r *http.Request, within string)
}{
	{"", 0, 0, func(s *Server, w http.ResponseWriter, r *http.Request, _ string) {
		q := queryOf(r.URL)
		s.show(w, r, "list.html.tmpl", "/events", s.index(q), livePage{With: q.with})
	}},
	{"events", 0, 0, func(s *Server, w http.ResponseWriter, r *http.Request, _ string) {
		s.follow(w, r, s.index(queryOf(r.URL)))
	}},
	{"events", 1, 2, func(s *Server, w http.ResponseWriter, r *http.Request,
		dir string) {
		s.follow(w, r, s.run(dir))
	}},
	{"run", 1, 2, (*Server).showRun},
	{"compare", 0, 0, func(s *Server, w http.ResponseWriter, r *http.Request, _ string) { s.compare(w, r) }},
	{"trend", 0, 0, func(s *Server, w http.ResponseWriter, r *http.Request, _ string) { s.trend(w, r) }},
	{"files", 1, mostSegments, (*Server).file},
}

// segments are those of a request's path. None may lead elsewhere, however it is written.
func segments(r *http.Request) (all []string, ok bool) {
	written := strings.ToLower(r.URL.EscapedPath())
	if strings.Contains(written, "%2f") || strings.Contains(written, "%5c") || !strings.HasPrefix(r.URL.Path, "/") {
		return nil, false
	}
	whole := strings.TrimPrefix(r.URL.Path, "/")
	if whole == "" {
		return nil, true
	}
	for _, segment := range strings.Split(whole, "/") {
		if !plainName(segment) {
			return nil, false
		}
		all = append(all, segment)
	}
	return all, true
}

// secure sets the headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// types are the kinds of files that runs write. What a program under test may
// have written is plain text.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".json": "application/json", ".sarif": "application/json",
	".jsonl": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".xml": "text/plain; charset=utf-8",
	".yaml": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".md": "text/plain; charset=utf-8", ".zst": "application/octet-stream",
}

// sandbox sets the headers of what runs have written. A page gets an origin of its
// own, which can read nothing here and keep nothing in the browser; it can open no
// window, send no form, load from nowhere and connect to nothing. Of scripts only
// those of lockchaos's own pages run, by their hashes: no policy keeps a script that
// runs from leaving for an address with what it knows, nor from asking a STUN server.
func (s *Server) sandbox(h http.Header) {
	h.Set("Content-Security-Policy", "sandbox allow-scripts allow-downloads; default-src 'none'; connect-src 'none'; style-src 'unsafe-inline'; script-src "+s.scripts+
		"; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-DNS-Prefetch-Control", "off") // a page may have names looked up ahead
}

// file sends a file of a run.
func (s *Server) file(w http.ResponseWriter, r *http.Request, name string) {
	kind, known := types[path.Ext(name)]
	if !known {
		http.NotFound(w, r)
		return
	}
	f, err := outside.OpenIn(s.root, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	s.sandbox(w.Header())
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// show sends a page that is followed.
func (s *Server) show(w http.ResponseWriter, r *http.Request, name, events string, v view, page livePage) {
	now, err := v(never)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	s.page(w, name, events, now, page)
}

// follow sends what is live of a page whenever it changes, as server-sent events.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, v view) {
	// A record that can't be read just now is being written: a browser told
	// "not found" would never ask again.
	if _, err := v(never); errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many follow already", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	to := stream{out: http.NewResponseController(w), w: w, version: never,
		state: cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("have"))}
	tick := time.NewTicker(s.board.every)
	defer tick.Stop()
	for to.update(v) {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// stream is one that follows a page: what it has seen of it, and when it last was told anything.
type stream struct {
	w       http.ResponseWriter
	out     *http.ResponseController
	version uint64
	state   string
	sent    time.Time
}

// update sends what is new, or after a while that there is nothing. It returns false when there
// will be no more.
func (to *stream) update(v view) bool {
	now, err := v(to.version)
	if errors.Is(err, fs.ErrNotExist) {
		return false // it was deleted
	}
	message, news := ": still here\n\n", false
	if err == nil { // with an error it is being written
		news = now.version != to.version && now.state != to.state
		to.version = now.version
	}
	if news {
		if message, err = now.message(); err != nil {
			return false
		}
		to.state = now.state
	}
	if !news && time.Since(to.sent) <= 15*time.Second {
		return true
	}
	// Who does not read is let go.
	_ = to.out.SetWriteDeadline(time.Now().Add(10 * time.Second))
	if _, err := to.w.Write([]byte(message)); err != nil || to.out.Flush() != nil {
		return false
	}
	to.sent = time.Now()
	return true
}

// nonce is what allows a page's own script, and no other.
func nonce() string { return rand.Text() }
