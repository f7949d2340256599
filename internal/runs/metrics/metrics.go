// Package metrics counts what runs and watches see, for Prometheus and, by OTLP, for any collector.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harmless/requests"
)

// Set is what is counted since the process began. The methods of a nil Set count nothing.
type Set struct {
	registry   *prometheus.Registry
	grants     prometheus.Counter
	acquires   prometheus.Histogram
	violations *prometheus.CounterVec
	faults     *prometheus.GaugeVec
	lines      *prometheus.CounterVec
	live, lag  prometheus.Gauge
}

// New makes a set that a run or a watch may be told to count in.
func New() *Set {
	s := &Set{
		registry: prometheus.NewRegistry(),
		grants: prometheus.NewCounter(prometheus.CounterOpts{Name: "lockchaos_grants_total",
			Help: "Grants of locks."}),
		acquires: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "lockchaos_acquire_seconds",
			Help: "From the request to the grant.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lockchaos_violations_total",
			Help: "Certain violations, by property."}, []string{"property"}),
		faults: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lockchaos_faults",
			Help: "Injected faults in effect, by kind."}, []string{"kind"}),
	}
	s.registry.MustRegister(s.grants, s.acquires, s.violations, s.faults)
	return s
}

// OfLog adds what is counted of a log alone: its lines, how many of them may
// still matter, and how old the newest is.
func (s *Set) OfLog() *Set {
	s.lines = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lockchaos_lines_total",
		Help: "Lines of the log: all that were read, and those that were bad or too late to be judged."},
		[]string{"what"})
	s.live = prometheus.NewGauge(prometheus.GaugeOpts{Name: "lockchaos_live_lines",
		Help: "Lines that may still matter."})
	s.lag = prometheus.NewGauge(prometheus.GaugeOpts{Name: "lockchaos_lag_seconds",
		Help: "How old the newest line was when it was judged."})
	s.registry.MustRegister(s.lines, s.live, s.lag)
	return s
}

// Grant counts a grant, and how long its client waited; less than 0: nobody knows.
func (s *Set) Grant(waited time.Duration) {
	if s == nil {
		return
	}
	s.grants.Inc()
	if waited >= 0 {
		s.acquires.Observe(waited.Seconds())
	}
}

// Violation counts a violation of a property.
func (s *Set) Violation(property string) {
	if s != nil {
		s.violations.WithLabelValues(property).Inc()
	}
}

// The kinds of lines.
const (
	LineRead = "read"
	LineBad  = "bad"
	LineLate = "late"
)

// Line counts a line of a log.
func (s *Set) Line(what string) {
	if s != nil {
		s.lines.WithLabelValues(what).Inc()
	}
}

// Log notes how many lines may still matter, and how far behind the log is.
func (s *Set) Log(live int, lag time.Duration) {
	if s != nil {
		s.live.Set(float64(live))
		s.lag.Set(lag.Seconds())
	}
}

// Run counts what one history of a run shows while it grows.
type Run struct {
	set    *Set
	faults map[int]string // in effect: their kinds, by number
}

// Begin begins to count a run.
func (s *Set) Begin() *Run { return &Run{s, map[int]string{}} }

// Event counts an event.
func (r *Run) Event(e *history.Event) {
	if r.set == nil {
		return
	}
	switch {
	case e.Type == history.OK && e.Kind == history.Acquire:
		waited := time.Duration(-1)
		if e.Start != 0 && e.End != 0 {
			waited = time.Duration(e.End - e.Start)
		}
		r.set.Grant(waited)
	case e.Type != history.Fault || e.Fault == nil || !e.Fault.Injected:
	case e.Fault.Phase == "begin":
		r.set.faults.WithLabelValues(e.Fault.Kind).Inc()
		r.faults[e.Fault.ID] = e.Fault.Kind
	case r.faults[e.Fault.ID] != "":
		r.end(e.Fault.ID)
	}
}

func (r *Run) end(fault int) {
	r.set.faults.WithLabelValues(r.faults[fault]).Dec()
	delete(r.faults, fault)
}

// Violation counts a violation.
func (r *Run) Violation(v checker.Violation) { r.set.Violation(v.Property) }

// End notes that the run is over, and with it every fault.
func (r *Run) End() {
	for fault := range r.faults {
		r.end(fault)
	}
}

// Serve serves the set at an address, as HOST:PORT, at /metrics, until stop is called. At an
// address of this machine alone it answers only requests that name it, and none of another
// site's page. Where OTEL_EXPORTER_OTLP_ENDPOINT (or …_METRICS_ENDPOINT) names a collector,
// the set is sent there too, as the other OTEL_ variables say, and once more at the end.
func (s *Set) Serve(addr string) (at string, stop func() error, err error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("serve metrics: %w", err)
	}
	sent, err := s.push()
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	alone := requests.Loopback(listener)
	guarded := func(w http.ResponseWriter, r *http.Request) {
		if !requests.Refused(w, r, alone) {
			mux.ServeHTTP(w, r)
		}
	}
	server := &http.Server{Handler: http.HandlerFunc(guarded), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }() // it ends when it is closed
	return listener.Addr().String(), func() error {
		err := errors.Join(sent(), server.Close())
		<-ended
		return err
	}, nil
}

// lastPush bounds how long the end waits for the collector.
const lastPush = 5 * time.Second

// push sends the set to the collector that the environment names, if it does;
// last sends it once more, and ends that.
func (s *Set) push() (last func() error, err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") == "" {
		return func() error { return nil }, nil
	}
	to, err := otlpmetrichttp.New(context.Background())
	if err != nil {
		return nil, fmt.Errorf("send metrics by OTLP: %w", err)
	}
	from := metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(s.registry)))
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(to, from)))
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), lastPush)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			return fmt.Errorf("send metrics by OTLP: %w", err)
		}
		return nil
	}, nil
}
