package page

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// visitor is somebody who reads pages in a browser.
type visitor struct {
	t   *testing.T
	ctx context.Context
	dir string
	w   *watch
}

// visit starts a browser of 1280 × 900 that watches what pages do.
func visit(t *testing.T) *visitor {
	t.Helper()
	v := &visitor{t: t, ctx: browser(t), dir: t.TempDir(), w: &watch{}}
	if err := chromedp.Listen(v.ctx, v.w.see); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(v.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.EmulateViewport(1280, 900))
	t.Cleanup(func() {
		for _, wrong := range v.w.take() {
			t.Error(wrong)
		}
	})
	return v
}

func (v *visitor) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	for _, a := range actions {
		if _, err := chromedp.Run(v.ctx, a); err != nil {
			v.t.Fatal(err)
		}
	}
}

// save writes a page into the visitor's folder.
func (v *visitor) save(name, text string) string {
	v.t.Helper()
	file := filepath.Join(v.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		v.t.Fatal(err)
	}
	return "file://" + file
}

// open goes to an address, from an empty page, so that the whole page is loaded
// even if only the fragment differs.
func (v *visitor) open(url string) {
	v.t.Helper()
	v.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	v.within("the page is there", there)
}

// within waits until an expression is true in the page.
func (v *visitor) within(what, js string) {
	v.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, err := chromedp.Run(v.ctx, chromedp.Evaluate[bool](js))
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("%s: %s is not so (%v)", what, js, err)
		}
		select {
		case <-v.ctx.Done():
			v.t.Fatalf("%s: %v", what, v.ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ask evaluates an expression.
func ask[T any](v *visitor, js string) T {
	v.t.Helper()
	x, err := chromedp.Run(v.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		v.t.Fatalf("%s: %v", js, err)
	}
	return x
}

// view is what the timeline shows, in seconds, from the address that keeps it.
func (v *visitor) view() (from, to float64) {
	v.t.Helper()
	x := ask[[]float64](v, `(/t=([\d.]+)-([\d.]+)/.exec(location.hash) || [0, 0, 0]).slice(1).map(Number)`)
	return x[0], x[1]
}

// changed does something that changes the view, and waits until the address tells the new one.
func (v *visitor) changed(what string, act func()) (from, to float64) {
	v.t.Helper()
	before := ask[string](v, "location.hash")
	act()
	v.within(what+" changes the view", "location.hash !== "+quoted(before))
	return v.view()
}

func quoted(s string) string { return "'" + s + "'" }

func (v *visitor) mouse(typ input.DispatchMouseEventType, x, y float64, change ...chromedp.MouseOption) {
	v.t.Helper()
	v.do(chromedp.MouseEvent(typ, x, y, change...))
}

// TestExploring follows a violation to its place in the timeline, and looks
// around there with mouse and keys.
func TestExploring(t *testing.T) {
	v := visit(t)
	s := reporttest.CorruptedCase()
	v.save("index.html", indexOf(t, reporttest.Suite(s)))
	v.save(s.Dir+"/report.html", reportOf(t, s))
	v.open("file://" + v.dir + "/index.html")
	v.do(chromedp.Click(`a.cell.v`))
	v.within("the cell leads to its page",
		`location.pathname.endsWith("/report.html") && document.readyState === "complete" && !document.getElementById("live").hidden`)
	if !ask[bool](v, `getComputedStyle(document.querySelector(".still")).display === "none"`) {
		t.Error("the drawing for readers without a script is still shown")
	}

	// A row of the table leads to its place.
	row := ask[string](v, `(() => { for (const d of document.querySelectorAll("details")) d.open = true; const a = [...document.querySelectorAll("td [data-go^=v] a")].at(-1); a.id = "row"; return a.textContent; })()`)
	v.do(chromedp.Click("#row"))
	v.within("the timeline comes into sight with the focus",
		`document.activeElement === document.querySelector("#live svg") && Math.abs(document.querySelector("#live svg").getBoundingClientRect().y) < innerHeight`)
	v.within("it tells of the violation", `document.querySelector("#live output").textContent.includes(`+
		quoted("at "+row)+`) && document.querySelector("#live .overlap.chosen") !== null`)
	v.within("the address keeps it", `/^#v=\d+&t=/.test(location.hash)`)
	from, to := v.view()
	if !(from < to) {
		t.Fatalf("the view is %v to %v", from, to)
	}

	lo, hi := v.changed("the button +", func() { v.do(chromedp.Click(`#live button[value="in"]`)) })
	if hi-lo >= to-from || lo < from || hi > to {
		t.Errorf("+ goes from %v–%v to %v–%v", from, to, lo, hi)
	}
	box := ask[[]float64](v, `(() => { document.querySelector("#live svg").scrollIntoView({block: "center"}); const r = document.querySelector("#live svg").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`)
	x, y := box[0]+box[2]/2, box[1]+box[3]/2
	from, to = v.changed("dragging", func() {
		v.mouse(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
		v.mouse(input.DispatchMouseEventTypeMouseMoved, x+150, y, chromedp.ButtonLeft)
		v.mouse(input.DispatchMouseEventTypeMouseReleased, x+150, y, chromedp.ButtonLeft, chromedp.ClickCount(1))
	})
	if from >= lo || (to-from)-(hi-lo) > 1e-5 {
		t.Errorf("dragging to the right goes from %v–%v to %v–%v", lo, hi, from, to)
	}
	lo, hi = v.changed("the wheel", func() {
		v.mouse(input.DispatchMouseEventTypeMouseWheel, x, y, func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 1, 240 })
	})
	if hi-lo <= to-from {
		t.Errorf("the wheel goes from %v–%v to %v–%v", from, to, lo, hi)
	}
	for _, key := range []string{"+", "-"} {
		from, to = v.changed("the key "+key, func() { v.do(chromedp.KeyEvent(key)) })
		if (key == "+") != (to-from < hi-lo) {
			t.Errorf("%s goes from %v–%v to %v–%v", key, lo, hi, from, to)
		}
		lo, hi = from, to
	}
	v.changed("n", func() { v.do(chromedp.KeyEvent("n")) })
	if from, to = v.changed("0", func() { v.do(chromedp.KeyEvent("0")) }); from != 0 || to < 6 {
		t.Errorf("the whole run is %v to %v", from, to)
	}

	// The address brings the same view back.
	v.open("file://" + v.dir + "/" + s.Dir + "/report.html#v=2&t=1.2-1.45")
	v.within("the view comes back", `document.querySelector("#live .caption").textContent.startsWith("1.200 s to 1.450 s") && document.querySelector("#live .which").textContent.startsWith("place 2 of")`)
	// What one points at is told, on the lane of the client and on that of the store.
	if !ask[bool](v, `(() => { const svg = document.querySelector("#live svg"), b = svg.querySelector("path.fault").getBoundingClientRect();
		svg.dispatchEvent(new PointerEvent("pointermove", {clientX: b.x + b.width / 2, clientY: b.y + 8, bubbles: true}));
		const tip = document.querySelector("#live .tip"); return !tip.hidden && tip.textContent.includes("frozen") && tip.textContent.includes("holds k0"); })()`) {
		t.Errorf("nothing is told of the fault that is pointed at: %q", ask[string](v, `document.querySelector("#live .tip").textContent`))
	}
	// Without a mouse: to the lane of the store, and on to what happened there.
	v.do(chromedp.Focus("#live svg"))
	for range 8 {
		v.do(chromedp.KeyEvent(kb.ArrowDown))
	}
	v.do(chromedp.KeyEvent(kb.ArrowRight, chromedp.KeyModifiers(chromedp.ModifierShift)))
	v.within("the next write is read out",
		`/writes v\d+ under/.test(document.querySelector("#live output").textContent) && document.querySelector("#live .place") !== null`)
}

// TestWithoutScript opens a page where no script may run: all is there but what can be zoomed.
func TestWithoutScript(t *testing.T) {
	v := visit(t)
	if _, err := chromedp.Call(v.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	v.open(v.save("report.html", reportOf(t, reporttest.CorruptedCase())))
	if seen := ask[int](v, `[...document.querySelectorAll("svg.wide, svg.slim")].filter(e => e.clientWidth > 0).length`); seen != 3 {
		t.Errorf("%d drawings of 3 are shown", seen)
	}
	if ask[bool](v, `document.getElementById("live").checkVisibility() || [...document.querySelectorAll(".js, #filter")].some(e => e.checkVisibility())`) {
		t.Error("something is shown that does nothing without a script")
	}
}

// TestAlikeWithoutScript compares the drawing that a script makes with the one
// for readers without it: every word stands at its place in both, on wide
// screens and on narrow ones, and they have the same kinds of things to see.
func TestAlikeWithoutScript(t *testing.T) {
	v := visit(t)
	for _, s := range []reports.Scenario{reporttest.CorruptedCase(), reporttest.ContainedCase(), reporttest.PassCase(),
		reporttest.ClockCase()} {
		address := v.save("report.html", reportOf(t, s))
		for class, width := range map[string]int64{"wide": 1280, "slim": 400} {
			v.do(chromedp.EmulateViewport(width, 900))
			v.open(address)
			v.within("the timeline is drawn", `document.querySelectorAll("#live svg text").length > 3`)
			seen := ask[[]string](v, `[document.querySelector("#live svg"), document.querySelector(".still svg.`+class+`")].map(svg => {
				const place = e => [e.textContent, e.className.baseVal, Math.round(e.getAttribute("x")), Math.round(e.getAttribute("y"))].join(" ");
				return [...new Set([...svg.querySelectorAll("text")].map(place)), ...new Set([...svg.querySelectorAll("[class]:not(pattern *)")].map(e => e.className.baseVal))].sort().join("\n"); })`)
			if seen[0] != seen[1] {
				t.Errorf("%s, %s: with a script\n%s\nwithout\n%s", s.Name, class, seen[0], seen[1])
			}
		}
	}
}

// TestDownload saves the history that a page carries: what arrives is the
// history itself, and no request was made for it.
func TestDownload(t *testing.T) {
	v := visit(t)
	s := reporttest.CorruptedCase()
	v.open(v.save("report.html", reportOf(t, s)))
	got := ask[string](v, `(() => { // the address of the data is there before a script has touched it
		window.saved = []; const made = URL.createObjectURL;
		URL.createObjectURL = blob => { blob.text().then(text => window.saved.push(text)); return made.call(URL, blob); };
		return document.querySelector('a[download="history.jsonl.gz"]').protocol; })()`)
	if got != "data:" {
		t.Fatalf("the history is at %q", got)
	}
	v.do(chromedp.Click(`a[download="history.jsonl.gz"]`))
	v.within("the history is handed out", `window.saved.length === 1`)
	var want strings.Builder
	if err := s.History.Encode(&want); err != nil {
		t.Fatal(err)
	}
	if text := ask[string](v, `window.saved[0]`); text != want.String() {
		t.Errorf("%d bytes of %d were saved", len(text), want.Len())
	}
	if !ask[bool](v, `document.querySelector('a[download="history.jsonl"]') !== null`) {
		t.Error("it is still named as if it were compressed")
	}
}
