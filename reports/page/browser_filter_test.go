package page

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestFiltering picks scenarios on the index with the keyboard, and finds the
// same ones again by the address.
func TestFiltering(t *testing.T) {
	v := visit(t)
	control := reporttest.CorruptedCase()
	control.Name, control.Lock, control.Control, control.Dir = "broken-del/pause-holder/unfenced", "broken-del", true,
		"broken-del.pause-holder.unfenced"
	all := reporttest.Mixed()
	all.Scenarios = append(all.Scenarios, control)
	url := v.save("index.html", indexOf(t, all))
	v.open(url)
	const cells = `document.querySelectorAll(".cell").length`
	const shown = `[...document.querySelectorAll(".cell")].filter(e => e.checkVisibility()).length`
	if n := ask[int](v, shown); n != 8 || n != ask[int](v, cells) {
		t.Fatalf("%d cells of 8 are shown", n)
	}
	if ask[int](v, `document.querySelectorAll("svg.spark").length`) != 4 {
		t.Error("four scenarios have violations, and as many should draw them over time")
	}
	pick := func(name, value string) {
		t.Helper()
		v.do(chromedp.Focus(`select[name="`+name+`"]`), chromedp.KeyEvent(value))
	}
	v.do(chromedp.KeyEvent("/"))
	v.within("/ leads to the filter", `document.activeElement.name === "lock"`)
	pick("result", "corrupted")
	v.within("the address keeps the filter", `location.hash === "#result=corrupted"`)
	if n := ask[int](v, shown); n != 3 {
		t.Errorf("%d cells are shown, 3 are corrupted", n)
	}
	pick("lock", "redis-setnx")
	v.within("both filters hold", `new URLSearchParams(location.hash.slice(1)).get("lock") === "redis-setnx" && document.querySelector("#filter output").textContent === "2 of 8 scenarios"`)
	if ask[bool](v, `document.getElementById("controls").checkVisibility()`) {
		t.Error("the heading of the controls stands over nothing")
	}
	if heads := ask[int](v, `[...document.querySelectorAll("table.mx thead th")].filter(e => e.checkVisibility()).length`); heads != 4 {
		t.Errorf("%d columns of the matrix are left, with lock and store it should be 4", heads)
	}
	v.open(url + "#store=fenced&lock=etcd-lease")
	v.within("the address brings the filter back", shown+` === 1 && document.querySelector("select[name=store]").value === "fenced"`)
	if !ask[bool](v, `document.querySelector("table.mx tbody tr:not([hidden]) th").innerText.includes("etcd-lease")`) {
		t.Error("the row that is left does not name its lock")
	}
	v.do(chromedp.KeyEvent(kb.Escape))
	v.within("Escape shows all", shown+` === 8 && location.hash === ""`)
	v.do(chromedp.Click(`#filter input[name="odd"]`))
	v.within("what is not as expected", `[...document.querySelectorAll(".cell")].filter(e => e.checkVisibility()).every(e => e.classList.contains("odd")) && `+shown+` === 2`)
	v.open(url + "#lock=nobody&x=%3Cscript%3E")
	v.within("an address that means nothing hides nothing", shown+` === 8`)
}
