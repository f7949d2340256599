package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// directedCase is a suite of many faults, each aimed at locks of its own, with
// controls beside it: as large as `directed`.
func directedCase() reports.Suite {
	s := reporttest.Diagonal(20)
	for i := range 7 {
		x := s.Scenarios[2*i+1]
		x.Name, x.Lock, x.Control = "broken-lock-with-a-long-name/"+x.Fault, "broken-lock-with-a-long-name", true
		s.Scenarios = append(s.Scenarios, x)
	}
	return s
}

// TestTurnedMatrixFits shows a large suite on a narrow screen: each fault has
// its name, and nothing lies beside the page.
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

// TestLargeIndexPrinted prints a large suite: a page breaks between rows, and
// never after a heading.
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

// TestOpensCloseUp opens a page: the screen begins with the close up that paper
// begins with, and leads to the whole story and back.
func TestOpensCloseUp(t *testing.T) {
	v := visit(t)
	v.open(v.save("report.html", reportOf(t, reporttest.CorruptedCase())))
	const wide = `document.querySelector("#live .overlap.chosen").getBBox().width / document.querySelector("#live svg").clientWidth`
	v.within("the timeline is drawn", `document.querySelector("#live .overlap.chosen") !== null`)
	first := ask[float64](v, wide)
	if first < 0.1 {
		t.Errorf("the overlap fills %.1f %% of the timeline", 100*first)
	}
	pressed := func(name string) string {
		return `document.querySelector('#live button[value=` + name + `]').ariaPressed === "true"`
	}
	if !ask[bool](v, pressed("close")) || ask[bool](v, pressed("story")) {
		t.Error("the timeline does not say that it is a close up")
	}
	v.do(chromedp.Click(`#live button[value="story"]`))
	v.within("the whole story is shown", pressed("story")+" && !("+pressed("close")+") && "+wide+" < "+`0.1`)
	v.do(chromedp.Focus("#live svg"), chromedp.KeyEvent("c"))
	v.within("c leads back", pressed("close"))
	if again := ask[float64](v, wide); again != first {
		t.Errorf("the close up is another: %.3f, %.3f", first, again)
	}
	v.do(chromedp.KeyEvent("0"))
	v.within("neither is the whole run", "!("+pressed("story")+") && !("+pressed("close")+")")
	// Where nothing was violated there is nothing to look at closely.
	v.open(v.save("pass.html", reportOf(t, reporttest.PassCase())))
	v.within("the timeline is drawn", `document.querySelectorAll("#live svg path").length > 5`)
	if ask[bool](v, `[...document.querySelectorAll("#live button[aria-pressed]")].some(e => e.checkVisibility())`) {
		t.Error("a page without a violation offers a close up of it")
	}
	if _, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	v.open(v.save("report.html", reportOf(t, reporttest.CorruptedCase())))
	if text := ask[string](v, `document.querySelector(".still .bar").textContent`); !strings.HasPrefix(text, "Close up: ") {
		t.Errorf("on paper the timeline begins with %q", text)
	}
}

// TestCloseUpPointsOn looks closely at a double-hold whose harm came much
// later: the page says when, and no longer once it is in sight.
func TestCloseUpPointsOn(t *testing.T) {
	v := visit(t)
	s := reporttest.CorruptedCase()
	v.open(v.save("report.html", reportOf(t, s)))
	early := 0
	for i, x := range explored(t, reportOf(t, s)).Violations {
		if x.From > 0 && x.View[1] < x.At && x.What == "mutual-exclusion" {
			early = i + 1
			break
		}
	}
	if early == 0 {
		t.Fatal("no violation is certain only later: the test tests nothing")
	}
	v.open(v.save("report.html", reportOf(t, s)) + fmt.Sprintf("#v=%d", early))
	v.within("the write is pointed at", `/^client \d+'s write: \d+\.\d+ s →$/.test(document.querySelector("#live .beyond")?.textContent)`)
	v.do(chromedp.Focus("#live svg"), chromedp.KeyEvent("0"))
	v.within("it is in sight", `document.querySelector("#live .beyond") === null`)
}

// TestRemediesOffline unfolds what a page says to do: all of it is there
// without a network, and what is on the web is marked.
func TestRemediesOffline(t *testing.T) {
	v := visit(t)
	v.open(v.save("report.html", reportOf(t, reporttest.CorruptedCase())))
	v.do(chromedp.Click(".todo summary"))
	v.within("the section unfolds", `document.querySelector(".todo details").open && document.querySelector(".todo details p").checkVisibility()`)
	if ask[bool](v, `[...document.querySelectorAll('a[href^="http"]')].some(e => !getComputedStyle(e, "::after").content.includes("↗"))`) {
		t.Error("a link to the web looks like one to the page")
	}
	if _, err := chromedp.Call(v.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	if n := ask[int](v, `[...document.querySelectorAll(".todo details p")].filter(e => e.getBoundingClientRect().height === 0).length`); n > 0 {
		t.Errorf("%d paragraphs are folded away on paper, where nobody can unfold them", n)
	}
}
