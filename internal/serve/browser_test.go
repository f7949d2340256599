package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// chromium starts one, or skips the test where there is none and it is not required.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := needed.Browser(t)
	// which a browser that ends may still write into
	profile, err := os.MkdirTemp("", "lockchaos-browser-")
	if err != nil {
		t.Fatal(err)
	}
	bound, cancelBound := context.WithTimeout(context.Background(), 5*time.Minute)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.WSURLReadTimeout(2*time.Minute), chromedp.Flag("disable-component-update", true))
	alloc, cancelAlloc := chromedp.NewExecAllocator(bound, options...)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("end the browser: %v", err)
		}
		cancel()
		cancelAlloc()
		cancelBound()
		os.RemoveAll(profile)
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// await waits until an expression is true in the page.
func await(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		if is && err == nil {
			return
		}
		select { // between two documents there is nothing to ask, which is an error of the moment
		case <-ctx.Done():
			t.Fatalf("it never came: %s (%v)", expression, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A run is seen to go on without a reload; the list is filtered; names are
// texts; nothing else is asked for, and no policy is broken.
func TestInBrowser(t *testing.T) {
	ctx := chromium(t)
	root := folder(t)
	addr := started(t, root)
	var mu sync.Mutex
	var wrong []string
	err := chromedp.Listen(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *cdplog.EventEntryAdded:
			wrong = append(wrong, fmt.Sprintf("console: %s: %s", e.Entry.Level, e.Entry.Text))
		case *runtime.EventExceptionThrown:
			wrong = append(wrong, "exception: "+e.ExceptionDetails.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "http://"+addr+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
				wrong = append(wrong, "request: "+e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	open := func(path string) {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(400, 800), chromedp.Navigate("http://"+addr+path)); err != nil {
			t.Fatal(err)
		}
	}
	open("/run/new")
	await(t, ctx, `document.getElementById("state").textContent === "running"`)
	file := filepath.Join(root, "new", "run.json")
	text := strings.Replace(record1("ended", "corrupted", 9e9), `"result"`, `"first_violation":"<img src=x onerror=alert(1)>","result"`, 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, `document.getElementById("state").textContent === "corrupted" && document.querySelector("#scenarios .pill.v").textContent === "corrupted"`)
	await(t, ctx, `document.body.textContent.includes("<img src=x") && document.querySelector("#scenarios img") === null`)
	open("/run/old")
	await(t, ctx, `document.querySelector("#scenarios a").textContent === "a/<script>alert(1)</script>" && document.querySelector("#scenarios a").getAttribute("href") === "/files/old/a/report.html"`)
	open("/#pass")
	await(t, ctx, `document.getElementById("shown").textContent === "1 of 4" && [...document.getElementById("runs").rows].filter(r => !r.hidden).length === 1`)
	await(t, ctx, `document.documentElement.scrollWidth <= innerWidth`)
	mu.Lock()
	defer mu.Unlock()
	for _, what := range wrong {
		t.Error(what)
	}
}

// The list keeps itself: a run that begins appears on top, what was ticked stays
// so, progress and the time left are told, and two that are ticked are compared.
func TestListInBrowser(t *testing.T) {
	ctx := chromium(t)
	root := folder(t)
	addr := started(t, root)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate("http://"+addr+"/"), chromedp.Click(`input[value="old"]`))
	await(t, ctx, `document.getElementById("compare").disabled && document.querySelector("#r-again input") === null`)
	began := time.Now().UTC()
	record := fmt.Sprintf(`{"suite":"fresh","seed":1,"started":%q,"elapsed_ns":0,"parallel":1,"scenarios":[{"name":"a","dir":"a","state":"ended","result":"pass","planned_ns":60000000000,"elapsed_ns":60000000000},
		{"name":"b","dir":"b","state":"running","began":%q,"planned_ns":60000000000}]}`, began.Format(time.RFC3339),
		began.Format(time.RFC3339Nano))
	if err := os.Mkdir(filepath.Join(root, "fresh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "fresh", "run.json"), []byte(record), 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, `document.getElementById("runs").rows[0].id === "r-fresh" && document.querySelector('input[value="old"]').checked`)
	await(t, ctx, `document.getElementById("r-fresh").textContent.includes("1 of 2 scenarios ended") && /^about \d+ s left$/.test(document.querySelector("#r-fresh time").textContent)`)
	text := strings.Replace(record, `"elapsed_ns":0`, `"exit_status":3,"elapsed_ns":9000000000`, 1)
	text = strings.Replace(text, `"state":"running"`, `"state":"ended","result":"failed","reason":"Redis <b>died</b>."`, 1)
	if err := os.WriteFile(filepath.Join(root, "fresh", "run.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, `document.querySelector("#r-fresh .pill").textContent === "failed" && document.getElementById("r-fresh").textContent.includes("exit status 3") && document.getElementById("r-fresh").textContent.includes("b: Redis <b>died</b>.")`)
	do(chromedp.Click(`input[value="new"]`))
	await(t, ctx, `!document.getElementById("compare").disabled`)
	do(chromedp.Click(`input[value="fresh"]`)) // the third takes the place of the first
	await(t, ctx, `[...document.querySelectorAll("input:checked")].map(b => b.value).join() === "fresh,new"`)
	do(chromedp.Focus("#filter"), chromedp.KeyEvent("slow"))
	await(t, ctx, `document.getElementById("shown").textContent === "1 of 5" && location.search === "?with=slow" && document.activeElement.id === "filter"`)
	do(chromedp.Navigate("http://"+addr+"/"), chromedp.Click(`input[value="new"]`),
		chromedp.Click(`input[value="fresh"]`), chromedp.Click("#compare"))
	await(t, ctx, `location.pathname === "/compare" && document.querySelector("h1")?.textContent.includes("scenarios") === true && self.origin === "null"`)
}

// A page that was refused, because too many followed, follows as soon as it can.
func TestBrowserAsksAgain(t *testing.T) {
	ctx := chromium(t)
	root := folder(t)
	s, err := New(root)
	if err != nil {
		t.Fatal(err)
	}
	s.board.every, s.streams = 5*time.Millisecond, make(chan struct{}, 1)
	s.streams <- struct{}{}
	addr := serving(t, s)
	refused := make(chan struct{}, 1)
	err = chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*network.EventResponseReceived); ok && e.Response.Status == 503 {
			select {
			case refused <- struct{}{}:
			default:
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("http://"+addr+"/run/new")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-refused:
	case <-ctx.Done():
		t.Fatal("the page was not refused")
	}
	<-s.streams
	if err := os.WriteFile(filepath.Join(root, "new", "run.json"), []byte(record1("ended", "pass", 9e9)), 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, `document.getElementById("state").textContent === "pass"`)
}
