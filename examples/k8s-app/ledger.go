package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// ledger keeps the payments in memory. A restart loses them, and what the fence knew with them.
type ledger struct {
	mu    sync.Mutex
	paid  map[int64]int // how often each order was paid
	last  int64         // the newest order that was paid
	fence bool
	token int64 // the greatest that came
}

func serve(ctx context.Context) error {
	l := &ledger{paid: map[int64]int{}, fence: os.Getenv("FENCE") == "on"}
	server := &http.Server{Addr: ":8080", Handler: l.handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (l *ledger) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /next", l.next)
	mux.HandleFunc("POST /pay", l.pay)
	mux.HandleFunc("GET /payments", l.list)
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	return mux
}

// next answers which order is to be paid.
func (l *ledger) next(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.admits(w, r) {
		fmt.Fprintln(w, l.last+1)
	}
}

// pay pays an order, whether or not somebody has paid it.
func (l *ledger) pay(w http.ResponseWriter, r *http.Request) {
	order, err := strconv.ParseInt(r.FormValue("order"), 10, 64)
	if err != nil {
		http.Error(w, "order: "+err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.admits(w, r) {
		l.paid[order]++
		l.last = max(l.last, order)
	}
}

// admits reports whether the fence lets a request pass, and answers it if not. Reads raise the
// fence, too: no payment with an older token may come after a leader has read with a newer one.
func (l *ledger) admits(w http.ResponseWriter, r *http.Request) bool {
	if !l.fence {
		return true
	}
	token, err := strconv.ParseInt(r.FormValue("token"), 10, 64)
	switch {
	case err != nil:
		http.Error(w, "token: "+err.Error(), http.StatusBadRequest)
		return false
	case token < l.token:
		http.Error(w, fmt.Sprintf("token %d: %d was seen", token, l.token), http.StatusConflict)
		return false
	}
	l.token = token
	return true
}

// list answers which orders were paid more than once.
func (l *ledger) list(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var twice []int64
	for order, n := range l.paid {
		if n > 1 {
			twice = append(twice, order)
		}
	}
	slices.Sort(twice)
	for _, order := range twice {
		fmt.Fprintf(w, "order %d was paid %d times\n", order, l.paid[order])
	}
	fmt.Fprintf(w, "%d orders paid, %d of them more than once\n", len(l.paid), len(twice))
}
