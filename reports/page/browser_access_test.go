package page

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// barriers finds in a page what keeps people out who do not see it, or not
// well, or have no mouse: after the rules of WCAG 2.2 that a program can check.
// Text in drawings stands on shapes whose colours are checked by TestContrast.
const barriers = `(() => {
	const wrong = [], say = (what, e) => wrong.push(what + ": " + e.outerHTML.slice(0, 120));
	const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true});
	const rgb = text => { const n = text.match(/[\d.]+/g).map(Number); return n.length === 3 ? [...n, 1] : n; };
	const luminance = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 0.99) return c; } return [255, 255, 255]; };
	let texts = 0;
	for (const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walk.nextNode();) {
		const e = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || e.closest("svg, script, option") || !shown(e)) continue;
		texts++;
		const style = getComputedStyle(e), [a, b] = [luminance(rgb(style.color)), luminance(ground(e))], size = parseFloat(style.fontSize);
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		if (ratio < (large ? 3 : 4.5)) say("contrast " + ratio.toFixed(2), e);
	}
	if (texts < 20) wrong.push("only " + texts + " texts were looked at");
	let level = 0;
	for (const h of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
		if (!shown(h)) continue;
		if (Number(h.tagName[1]) > level + 1) say("a heading that skips a level", h);
		level = Number(h.tagName[1]);
		if (!h.textContent.trim()) say("an empty heading", h);
	}
	for (const t of document.querySelectorAll("table")) {
		if (!t.tHead) say("a table without headers", t);
		for (const th of t.querySelectorAll("th")) if (!["col", "row"].includes(th.scope)) say("a header of nothing", th);
	}
	for (const e of document.querySelectorAll("a[href], button, select, input, summary, [tabindex]")) {
		const label = e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.labels?.[0]?.textContent || e.textContent;
		if (!label.trim()) say("a control without a name", e);
	}
	for (const e of document.querySelectorAll("svg")) if (!e.closest("[aria-hidden=true]") && !(e.getAttribute("role") && e.getAttribute("aria-label"))) say("a drawing without a name", e);
	const ids = new Set();
	for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id) && e.closest("svg") === null) say("a second " + e.id, e); ids.add(e.id); }
	for (const name of ["aria-labelledby", "aria-describedby", "for"]) for (const e of document.querySelectorAll("[" + name + "]")) for (const id of e.getAttribute(name).split(" ")) if (!ids.has(id)) say("points at nothing", e);
	if (!document.documentElement.lang || !document.title.trim()) wrong.push("no language, or no title");
	return wrong;
})()`

// unfocused finds controls that do not show that they have the focus.
const unfocused = `[...document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")].filter(e => {
	if (!e.checkVisibility()) return false;
	e.focus({preventScroll: true});
	const style = getComputedStyle(e);
	return document.activeElement === e && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1.5);
}).map(e => e.outerHTML.slice(0, 120))`

// TestAccessible looks for barriers in every kind of page, light and dark, wide and narrow.
func TestAccessible(t *testing.T) {
	v := visit(t)
	for name, text := range map[string]string{"index": indexOf(t, reporttest.Mixed()),
		"corrupted": reportOf(t, reporttest.CorruptedCase()), "pass": reportOf(t, reporttest.PassCase()),
		"clocks": reportOf(t, reporttest.ClockCase()), "failed": reportOf(t, reporttest.FailedCase())} {
		url := v.save(name+".html", text)
		for _, scheme := range []string{"light", "dark"} {
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
			if _, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, media); err != nil {
				t.Fatal(err)
			}
			for _, width := range []int64{1280, 400} {
				if width == 400 && scheme == "dark" {
					continue // its colours are those of the wide page
				}
				v.do(chromedp.EmulateViewport(width, 900))
				v.open(url)
				for _, wrong := range ask[[]string](v, barriers) {
					if name == "failed" && strings.HasPrefix(wrong, "only ") {
						continue
					}
					t.Errorf("%s, %s, %d: %s", name, scheme, width, wrong)
				}
			}
		}
		v.do(chromedp.KeyEvent(kb.Tab)) // from now on the focus is to be seen
		for _, wrong := range ask[[]string](v, unfocused) {
			t.Errorf("%s: the focus is not seen on %s", name, wrong)
		}
	}
}

// TestPrinted checks what goes on paper: in light colours, with the drawings
// instead of the timeline to be zoomed, and nothing beyond the edge.
func TestPrinted(t *testing.T) {
	v := visit(t)
	media := emulation.SetEmulatedMediaParams{Media: "print",
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}
	if _, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.EmulateViewport(720, 1000)) // A4 within its margins
	for name, text := range map[string]string{"index": indexOf(t, reporttest.Mixed()),
		"corrupted": reportOf(t, reporttest.CorruptedCase())} {
		v.open(v.save(name+".html", text))
		if ground := ask[string](v, `getComputedStyle(document.body).backgroundColor`); ground != "rgb(255, 255, 255)" {
			t.Errorf("%s is printed on %s", name, ground)
		}
		if ask[bool](v, `[...document.querySelectorAll("#live, #filter, .js")].some(e => e.checkVisibility())`) {
			t.Errorf("%s: what only a screen can use is printed", name)
		}
		if n := ask[int](v, `[...document.querySelectorAll("svg.wide")].filter(e => e.clientWidth > 0).length`); name == "corrupted" && n != 3 {
			t.Errorf("%s: %d drawings of 3 are printed", name, n)
		}
		if wide := ask[[]string](v, `[...document.querySelectorAll("main *:not(svg *)")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))`); len(wide) > 0 {
			t.Errorf("%s: beyond the edge of the paper: %q", name, wide)
		}
	}
}

// TestHostileTimeline points at what a hostile program has named, and jumps to
// its violations: its text stays text.
func TestHostileTimeline(t *testing.T) {
	v := visit(t)
	all := reporttest.Suite(reporttest.HostileCase(), reporttest.CorruptedCase())
	v.open(v.save("index.html", indexOf(t, all)))
	if n := ask[int](v, `document.querySelectorAll("select[name=lock] option").length`); n != 3 {
		t.Errorf("%d locks to choose from, with all of them it should be 3", n)
	}
	before := ask[int](v, `document.querySelectorAll("script, img, iframe").length`)
	v.do(chromedp.Focus("select[name=lock]"), chromedp.KeyEvent(kb.ArrowDown))
	v.within("the filter works", `location.hash.startsWith("#lock=")`)
	if after := ask[int](v, `document.querySelectorAll("script, img, iframe").length`); after != before {
		t.Errorf("%d elements that can run or load became %d", before, after)
	}
	v.open(v.save("report.html", reportOf(t, reporttest.HostileCase())) + "#v=1")
	v.within("the violation is told", `document.querySelector("#live output").textContent.includes("alert(1)")`)
	told := ask[string](v, `(() => { const svg = document.querySelector("#live svg"); let told = "";
		for (const b of svg.querySelectorAll("path.fault, path.hold, path.hold2")) { const r = b.getBoundingClientRect();
			svg.dispatchEvent(new PointerEvent("pointermove", {clientX: r.x + r.width / 2, clientY: r.y + 8, bubbles: true})); told += document.querySelector("#live .tip").textContent; }
		return told; })()`)
	if !strings.Contains(told, "<script>") {
		t.Errorf("what the program printed is not shown as it is: %.200q", told)
	}
	if n := ask[int](v, `document.querySelectorAll("#live script, #live img, #live [onerror]").length`); n != 0 {
		t.Errorf("%d elements came out of a program's text", n)
	}
	if strings.ContainsFunc(told, reporttest.Hidden) {
		t.Error("hidden characters reach the timeline")
	}
}

// TestBarriers checks the check: on a page full of barriers it finds each.
func TestBarriers(t *testing.T) {
	v := visit(t)
	v.open(v.save("bad.html", `<!doctype html><html><title> </title><style>:focus{outline:none}</style><h1>x</h1><h3>skipped</h3><p style="color:#999">faint</p>
<table><tr><th>x</th></tr></table><button></button><a href="#"></a><svg></svg><p id="a"></p><p id="a"></p><p aria-describedby="b"></p>`))
	found := strings.Join(ask[[]string](v, barriers), "\n")
	for _, want := range []string{"contrast 2.8", "skips a level", "a table without headers", "a header of nothing",
		"a control without a name: <button>", "a control without a name: <a", "a drawing without a name",
		"a second a", "points at nothing", "no language, or no title"} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is not found in\n%s", want, found)
		}
	}
	v.do(chromedp.KeyEvent(kb.Tab))
	if n := len(ask[[]string](v, unfocused)); n != 2 {
		t.Errorf("%d controls of 2 do not show the focus", n)
	}
}
