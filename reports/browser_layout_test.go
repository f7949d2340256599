package reports

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// directedCase is a suite of many faults, each aimed at locks of its own, with controls beside it: as large as `directed`.
func directedCase() Suite {
	s := diagonal(20)
	for i := range 7 {
		x := s.Scenarios[2*i+1]
		x.Name, x.Lock, x.Control = "broken-lock-with-a-long-name/"+x.Fault, "broken-lock-with-a-long-name", true
		s.Scenarios = append(s.Scenarios, x)
	}
	return s
}

// TestTurnedMatrixFits shows a large suite on a narrow screen: each fault has its name, and nothing lies beside the page.
func TestTurnedMatrixFits(t *testing.T) {
	v := visit(t)
	v.do(chromedp.EmulateViewport(400, 900))
	v.open(v.save("index.html", indexOf(t, directedCase())))
	const all, seen = `document.querySelectorAll(".byfault tbody th").length`,
		`[...document.querySelectorAll(".byfault tbody th")].filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 200).length`
	if n, named := ask[int](v, all), ask[int](v, seen); n != 21 || named != n {
		t.Errorf("%d of %d faults have a name beside their locks", named, n)
	}
	if wide := ask[float64](v, `Math.max(...[...document.querySelectorAll("main *")].map(e => e.getBoundingClientRect().right))`); wide > 400 {
		t.Errorf("the page is %.0f px wide in a window of 400", wide)
	}
	if n := ask[int](v, `new Set([...document.querySelectorAll(".byfault tbody tr:first-child .cell")].map(e => Math.round(e.getBoundingClientRect().x))).size`); n != 2 {
		t.Errorf("the locks stand in %d columns, want 2", n)
	}
}

// TestLargeIndexPrinted prints a large suite: a page breaks between rows, and never after a heading.
func TestLargeIndexPrinted(t *testing.T) {
	v := visit(t)
	if _, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.EmulateViewport(720, 1000)) // A4 within its margins
	v.open(v.save("index.html", indexOf(t, directedCase())))
	if n := ask[int](v, `[...document.querySelectorAll(".panel")].filter(e => e.clientHeight > 700 && getComputedStyle(e).breakInside !== "auto").length`); n != 0 {
		t.Errorf("%d panels that fill a page begin a new one and leave the last one empty", n)
	}
	if n := ask[int](v, `[...document.querySelectorAll("tr, .cell")].filter(e => getComputedStyle(e).breakInside !== "avoid").length`); n != 0 {
		t.Errorf("%d rows and cells may be cut in two", n)
	}
	if n := ask[int](v, `[...document.querySelectorAll("h1, h2, h3")].filter(e => getComputedStyle(e).breakAfter !== "avoid").length`); n != 0 {
		t.Errorf("%d headings may end a page", n)
	}
	if wide := ask[[]string](v, `[...document.querySelectorAll("main *:not(svg *)")].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))`); len(wide) > 0 {
		t.Errorf("beyond the edge of the paper: %q", wide)
	}
}
