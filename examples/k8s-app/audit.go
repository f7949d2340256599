package main

import (
	"encoding/json"
	"errors"
	"os"
	"time"
)

// leaseName is what the Lease is called, and the lock in the audit log.
const leaseName = "operator"

// pod is the name of the pod.
var pod = os.Getenv("POD")

// errStale: the fence has refused a request.
var errStale = errors.New("refused")

// line is one of the audit log.
type line struct {
	Time   time.Time `json:"time"` // before the call
	End    time.Time `json:"end"`  // after it
	Pod    string    `json:"pod"`
	Event  string    `json:"event"`
	Lock   string    `json:"lock"`
	Token  int64     `json:"token,omitempty"`
	Order  int64     `json:"order,omitempty"`
	Result string    `json:"result"`
}

// tell writes a line of the audit log, in one write: what was done, from before the call until now.
// g and order may be missing.
func tell(began time.Time, event string, g *grant, order int64, err error) {
	l := line{Time: began.UTC(), End: time.Now().UTC(), Pod: pod, Event: event, Lock: leaseName, Order: order,
		Result: "ok"}
	if g != nil {
		l.Token = g.token
	}
	switch {
	case errors.Is(err, errStale):
		l.Result = err.Error()
	case err != nil:
		l.Result = "unknown"
	}
	text, _ := json.Marshal(l) // it has no member that can't be marshalled
	_, _ = os.Stdout.Write(append(text, '\n'))
}
