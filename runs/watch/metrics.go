package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what a watch counts since it was started.
type metrics struct {
	registry                  *prometheus.Registry
	lines, bad, beyond, grant prometheus.Counter
	live                      prometheus.Gauge
	lag                       prometheus.Gauge
	wait                      prometheus.Histogram
	violations                *prometheus.CounterVec
}

// Serve serves the metrics of a watch at an address, at /metrics, until stop is called.
func Serve(addr string) (c Counter, at string, stop func(), err error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "lockchaos", Name: name, Help: help})
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		lines:    counter("lines_total", "Lines of the log that were read."),
		bad:      counter("bad_lines_total", "Lines that could not be read."),
		beyond:   counter("late_lines_total", "Lines about what was forgotten, which are not judged."),
		grant:    counter("grants_total", "Grants in the log."),
		live:     prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "lockchaos", Name: "live_lines", Help: "Lines that may still matter."}),
		lag:      prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "lockchaos", Name: "lag_seconds", Help: "How old the newest line was when it was judged."}),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "lockchaos", Name: "acquire_seconds", Help: "From the request to the grant.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "lockchaos", Name: "violations_total", Help: "Violations, by property."}, []string{"property"}),
	}
	m.registry.MustRegister(m.lines, m.bad, m.beyond, m.grant, m.live, m.lag, m.wait, m.violations)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return c, "", nil, fmt.Errorf("serve metrics at %s: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	stop = func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			_ = server.Close()
		}
		<-ended
	}
	return Counter{m}, listener.Addr().String(), stop, nil
}

// Counter is told what is counted. The zero value counts nothing.
type Counter struct{ m *metrics }

func (c Counter) line() {
	if c.m != nil {
		c.m.lines.Inc()
	}
}

func (c Counter) bad() {
	if c.m != nil {
		c.m.bad.Inc()
	}
}

func (c Counter) beyond() {
	if c.m != nil {
		c.m.beyond.Inc()
	}
}

func (c Counter) violation(property string) {
	if c.m != nil {
		c.m.violations.WithLabelValues(property).Inc()
	}
}

// took counts a grant, and how long its client waited.
func (c Counter) took(e *entry, k *key) {
	if c.m == nil || !e.Holds {
		return
	}
	c.m.grant.Inc()
	asked := int64(-1)
	for i := len(k.entries) - 1; i >= 0; i-- {
		if o := &k.entries[i]; o.Client == e.Client {
			if o.Asks {
				asked = o.At
			}
			break
		}
	}
	switch {
	case asked >= 0:
		c.m.wait.Observe(time.Duration(e.End - asked).Seconds())
	case e.End > e.At:
		c.m.wait.Observe(time.Duration(e.End - e.At).Seconds())
	}
}

func (c Counter) pass(live int, newest int64) {
	if c.m != nil && newest != 0 {
		c.m.live.Set(float64(live))
		c.m.lag.Set(time.Since(time.Unix(0, newest)).Seconds())
	}
}
