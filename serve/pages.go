package serve

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/lockchaos/lockchaos/reports"
)

//go:embed *.tmpl *.js
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"when":   func(t time.Time) string { return t.Format("2006-01-02 15:04:05") },
	"took":   func(d time.Duration) string { return d.Round(100 * time.Millisecond).String() },
	"counts": Run.counts,
	"class":  class,
	"mega":   func(n int64) string { return itoa(int(n>>10)) + " KiB" },
}).ParseFS(files, "*.tmpl"))

// class is the style class of a result or a state.
func class(word string) string {
	switch word {
	case "pass":
		return "p"
	case "contained":
		return "c"
	case "corrupted", "violated":
		return "v"
	case "failed":
		return "f"
	case "inconclusive", silent:
		return "i"
	}
	return "s"
}

// view is what a page shows.
type view struct {
	CSS    template.CSS
	Script template.JS
	Nonce  string
	Runs   []Run
	Run    Run
}

func (s *Server) index(w http.ResponseWriter) {
	s.page(w, "list.html.tmpl", "list.js", view{Runs: list(s.root.FS(), time.Now())})
}

func (s *Server) run(w http.ResponseWriter, r *http.Request, dir string) {
	run, err := s.read(dir)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	s.page(w, "run.html.tmpl", "run.js", view{Run: run})
}

// page sends a page with one script, which a nonce allows. The script gets what is new from this server alone.
func (s *Server) page(w http.ResponseWriter, name, script string, v view) {
	var code []byte
	for _, part := range [...]string{"follow.js", script} {
		text, err := files.ReadFile(part)
		if err != nil {
			http.Error(w, "the page is broken: "+err.Error(), http.StatusInternalServerError)
			return
		}
		code = append(code, text...)
	}
	v.CSS, v.Script, v.Nonce = reports.Style(), template.JS(code), nonce()
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, "the page is broken: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-"+v.Nonce+"'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // who has gone need not be told
}
