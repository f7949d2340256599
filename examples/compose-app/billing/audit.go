package main

import (
	"encoding/json"
	"errors"
	"os"
	"time"
)

// What a call can come to, beside "done" and "nobody knows".
var (
	errBusy    = errors.New("busy")
	errNotOurs = errors.New("not_owner")
	errStale   = errors.New("refused")
)

// tell writes a line of the audit log: what was done, from before the call to after it.
func tell(began time.Time, event string, g *grant, err error) {
	result := "ok"
	switch {
	case errors.Is(err, errBusy), errors.Is(err, errNotOurs), errors.Is(err, errStale):
		result = err.Error()
	case err != nil:
		result = "unknown"
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"time": began.UTC().Format(time.RFC3339Nano), "end": time.Now().UTC().Format(time.RFC3339Nano),
		"event": event, "order": g.order, "token": g.token, "result": result,
	})
}
