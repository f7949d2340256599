package page

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestManyRunsInBrowser opens the pages about many runs, narrow and wide.
func TestManyRunsInBrowser(t *testing.T) {
	ctx := browser(t)
	var w watch
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	many := reporttest.Repetition()
	for seed := range uint64(40) {
		many.Add(100+seed, fmt.Sprintf("seed-%d", 100+seed),
			[]reports.Scenario{reporttest.Trial("a-lock-with-a-rather-long-name/pause-holder/unfenced",
				[]checker.Outcome{checker.Pass, checker.Violated}[seed%2])})
	}
	c := reporttest.Comparison()
	c.A.Command = reporttest.HostileCase().Name
	dir := t.TempDir()
	for name, render := range map[string]func(io.Writer) error{
		"repeat":  func(w io.Writer) error { return WriteRepetition(w, many) },
		"compare": func(w io.Writer) error { return WriteComparison(w, c, "..", ".") },
		"curve":   func(w io.Writer) error { return WriteCurve(w, reporttest.Knee(0, 0, 10, 9)) },
	} {
		var page bytes.Buffer
		if err := render(&page); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		for width, scheme := range map[int64]string{400: "dark", 1280: "light"} {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				look(t, ctx, file, width, scheme)
				for _, wrong := range w.take() {
					t.Error(wrong)
				}
			})
		}
	}
}
