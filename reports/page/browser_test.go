package page

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// shared is the browser of all tests: to start one takes seconds on a busy machine.
var shared struct {
	once sync.Once
	path string
	ctx  context.Context
	err  error
	stop func()
}

// TestMain ends the browser, if a test has started one.
func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// browser opens a page of its own in a headless Chromium, or skips the test
// where there is none and it is not required.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := needed.Browser(t)
	shared.once.Do(func() { startBrowser(path) })
	if shared.err != nil {
		t.Fatalf("start %s: %v", path, shared.err)
	}
	bound, cancelBound := context.WithTimeout(shared.ctx, 5*time.Minute)
	ctx, cancel := chromedp.NewContext(bound)
	t.Cleanup(func() {
		cancel()
		cancelBound()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a page: %v", err)
	}
	return ctx
}

func startBrowser(path string) {
	profile, err := os.MkdirTemp("", "lockchaos-browser-")
	if err != nil {
		shared.err = err
		return
	}
	// The sandbox needs namespaces that a test may not have, and the pages are our own.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(2*time.Minute),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	shared.ctx = ctx
	shared.stop = func() {
		if err := chromedp.Cancel(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "end the browser: %v\n", err)
		}
		cancel()
		cancelAlloc()
		os.RemoveAll(profile)
	}
	shared.err = chromedp.Do(ctx)
}

// watch collects what a page must not do: log an error, throw, or ask for anything but itself.
type watch struct {
	mu    sync.Mutex
	wrong []string
}

func (w *watch) see(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := ev.(type) {
	case *cdplog.EventEntryAdded:
		w.wrong = append(w.wrong, fmt.Sprintf("console: %s: %s", e.Entry.Level, e.Entry.Text))
	case *runtime.EventExceptionThrown:
		w.wrong = append(w.wrong, "exception: "+e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file://") && !strings.HasPrefix(e.Request.URL, "data:") {
			w.wrong = append(w.wrong, "request: "+e.Request.URL)
		}
	}
}

func (w *watch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.wrong
	w.wrong = nil
	return out
}

// TestInBrowser opens every kind of page, narrow and wide, light and dark.
func TestInBrowser(t *testing.T) {
	ctx := browser(t)
	var w watch
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hostilePages := reporttest.Suite(reporttest.HostileCase())
	hostilePages.Name, hostilePages.Command = reporttest.HostileCase().Name, reporttest.HostileCase().Name
	for _, p := range []struct{ name, text string }{
		{"index", indexOf(t, reporttest.Stories())},
		{"index-mixed", indexOf(t, reporttest.Mixed())},
		{"index-hostile", indexOf(t, hostilePages)},
		{"corrupted", reportOf(t, reporttest.CorruptedCase())},
		{"contained", reportOf(t, reporttest.ContainedCase())},
		{"pass", reportOf(t, reporttest.PassCase())},
		{"inconclusive", reportOf(t, reporttest.InconclusiveCase())},
		{"clocks", reportOf(t, reporttest.ClockCase())},
		{"failed", reportOf(t, reporttest.FailedCase())},
		{"skipped", reportOf(t, reporttest.SkippedCase())},
		{"hostile", reportOf(t, reporttest.HostileCase())},
		{"comparison", reporttest.Text(t, func(w io.Writer) error { return WriteComparison(w, reporttest.Comparison(), "../first", ".") })},
		{"gate", gatePageOf(t, reporttest.GatedRuling(), reporttest.Gated(), 1)},
		{"gate-repeated", gatePageOf(t, reporttest.GatedRuling(), reporttest.Gated(), 2)},
		{"repetition", reporttest.Text(t, func(w io.Writer) error { return WriteRepetition(w, reporttest.Repetition()) })},
		{"curve", reporttest.Text(t, func(w io.Writer) error { return WriteCurve(w, reporttest.Knee(0, 0, 3, 9, 10)) })},
	} {
		file := filepath.Join(dir, p.name+".html")
		if err := os.WriteFile(file, []byte(p.text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int64{400, 1280, 1600} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s/%d/%s", p.name, width, scheme), func(t *testing.T) {
					look(t, ctx, file, width, scheme)
					for _, wrong := range w.take() {
						t.Error(wrong)
					}
				})
			}
		}
	}
}

// there tells that a page has come whole. A page that changes its own address
// while the next one is asked for can make a navigation seem done too early.
const there = `document.documentElement !== null && document.readyState === "complete" && location.protocol === "file:"`

// look opens a page and measures it.
func look(t *testing.T, ctx context.Context, file string, width int64, scheme string) {
	t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	(&visitor{t: t, ctx: ctx}).within("the page is there", there)
	type measured struct {
		Scroll, Inner float64
		Ground        string
		Heads, Sheets int
		Unnamed       int
		Seen, Twice   int
		Live          bool
		Hidden        []string
		Cut           []string
	}
	// Cut lists elements that stick out of the page though nothing lets them
	// scroll; Hidden what a narrow screen shows only to those who scroll sideways.
	// Of the two drawings of the whole run, Seen are shown; Twice counts those of
	// which both or none are. Live reports whether the timeline is drawn.
	m, err := chromedp.Run(ctx, chromedp.Evaluate[measured](`(() => {
		const out = [];
		for (const e of document.querySelectorAll("main *:not(svg *)")) {
			const r = e.getBoundingClientRect();
			if (r.width > 1 && r.right > innerWidth + 1 && !e.closest(".scroll, pre")) out.push(e.tagName + ": " + e.textContent.slice(0, 60));
		}
		return {Scroll: document.documentElement.scrollWidth, Inner: innerWidth, Ground: getComputedStyle(document.body).backgroundColor,
			Heads: document.querySelectorAll("h1").length, Sheets: document.styleSheets.length,
			Unnamed: document.querySelectorAll("svg:not([aria-label]):not([aria-hidden])").length, Cut: out,
			Hidden: [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60)),
			Seen: [...document.querySelectorAll("svg.wide, svg.slim")].filter(e => e.clientWidth > 0).length,
			Live: document.querySelectorAll("#live svg path").length > 5,
			Twice: [...document.querySelectorAll("svg.wide")].filter(e => !e.closest(".still")).filter(e => (e.clientWidth > 0) == (e.nextElementSibling.clientWidth > 0)).length};
	})()`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Scroll > m.Inner || int64(m.Inner) != width {
		t.Errorf("the page is %.0f wide in a window of %.0f", m.Scroll, m.Inner)
	}
	if len(m.Cut) > 0 {
		t.Errorf("cut off at the right: %q", m.Cut)
	}
	if width < 640 && len(m.Hidden) > 0 {
		t.Errorf("hidden until one scrolls sideways: %q", m.Hidden)
	}
	if m.Twice > 0 || strings.Contains(file, "corrupted") && (m.Seen != 1 || !m.Live) {
		t.Errorf("%d drawings of the whole run are shown, %d in both sizes or none; the timeline: %v", m.Seen, m.Twice, m.Live)
	}
	if m.Heads != 1 || m.Sheets != 1 || m.Unnamed != 0 {
		t.Errorf("%d main headings, %d style sheets, %d drawings without a name", m.Heads, m.Sheets, m.Unnamed)
	}
	if dark := m.Ground == "rgb(20, 23, 27)"; dark != (scheme == "dark") {
		t.Errorf("in %s the ground is %s", scheme, m.Ground)
	}
}
