package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// Server answers for one folder.
type Server struct {
	root *os.Root
	// Loopback: only requests to a name of this machine's own are answered.
	Loopback bool
	// Every is how often files are looked at for those who follow a run.
	Every time.Duration
	// streams bounds those who follow at once.
	streams chan struct{}
}

// mostStreams is how many may follow at once.
const mostStreams = 64

// New opens the folder.
func New(folder string) (*Server, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the folder of runs: %w", err)
	}
	return &Server{root: root, Every: 500 * time.Millisecond, streams: make(chan struct{}, mostStreams)}, nil
}

// Close lets go of the folder.
func (s *Server) Close() error { return s.root.Close() }

// Serve answers on the listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16,
		BaseContext: func(net.Listener) context.Context { return ctx }} // those who follow end with it
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

// ServeHTTP answers one request. It does not use http.ServeMux, which answers a path that leads elsewhere by sending the client to another one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD: nothing can be changed here", http.StatusMethodNotAllowed)
		return
	case s.Loopback && !loopback(r.Host):
		http.Error(w, "this server answers to localhost alone (lockchaos serve --listen)", http.StatusForbidden)
		return
	}
	segments, ok := segments(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch {
	case len(segments) == 0:
		s.index(w)
	case segments[0] == "events" && len(segments) <= 3:
		s.follow(w, r, path.Join(segments[1:]...))
	case segments[0] == "run" && len(segments) > 1 && len(segments) <= 3:
		s.run(w, r, path.Join(segments[1:]...))
	case segments[0] == "files" && len(segments) > 1:
		s.file(w, r, path.Join(segments[1:]...))
	default:
		http.NotFound(w, r)
	}
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

// loopback tells whether a request names this machine's own address.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if name == "localhost" {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
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

// types are the kinds of files that runs write. What a program under test may have written is plain text.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".json": "application/json", ".sarif": "application/json", ".jsonl": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".xml": "text/plain; charset=utf-8",
	".yaml": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8", ".zst": "application/octet-stream",
}

// file sends a file of a run.
func (s *Server) file(w http.ResponseWriter, r *http.Request, name string) {
	kind, known := types[path.Ext(name)]
	info, err := s.root.Stat(name)
	if !known || err != nil || !info.Mode().IsRegular() { // a pipe would never be opened
		http.NotFound(w, r)
		return
	}
	f, err := s.root.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", kind)
	if path.Ext(name) == ".html" {
		// A report allows its own scripts by their hashes; both policies hold.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	}
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// follow sends the state of a run, or of all, whenever it changes, as server-sent events.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, dir string) {
	// A record that can't be read just now is being written: a browser told "not found" would never ask again.
	if _, err := s.state(dir); errors.Is(err, fs.ErrNotExist) {
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
	out := http.NewResponseController(w)
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	last, sent := "", time.Time{}
	for {
		text, err := s.state(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return // it was deleted
		}
		if err != nil {
			text = last // it is being written
		}
		message := ": still here\n\n"
		if text != last {
			message = "data: " + text + "\n\n"
		}
		if text != last || time.Since(sent) > 15*time.Second {
			// Who does not read is let go.
			_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if _, err := w.Write([]byte(message)); err != nil || out.Flush() != nil {
				return
			}
			last, sent = text, time.Now()
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// state is the JSON of a run, or of all.
func (s *Server) state(dir string) (string, error) {
	var what any
	if dir == "" {
		what = list(s.root.FS(), time.Now())
	} else {
		run, err := s.read(dir)
		if err != nil {
			return "", err
		}
		what = run
	}
	text, err := json.Marshal(what)
	return string(text), err
}

// read reads one run. A link such as latest is followed, as far as it stays below the root.
func (s *Server) read(dir string) (Run, error) {
	if info, err := s.root.Stat(dir); err != nil || !info.IsDir() {
		return Run{}, fs.ErrNotExist
	}
	return read(s.root.FS(), dir, time.Now())
}

func itoa(n int) string { return strconv.Itoa(n) }

// nonce is what allows a page's own script, and no other.
func nonce() string { return rand.Text() }
