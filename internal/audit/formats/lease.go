package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Leases of Kubernetes, as `kubectl get lease -w -o json` prints them: objects
// one after the other, also as events (--output-watch-events) or in lists. Each
// names its holder, when it acquired the lease and renewed it last, for how
// long it is good from then on, and how often the holder has changed.

// namesLease is what such a file has somewhere at its beginning.
var namesLease = lazyregexp.New(`^\{(?s:.*)"kind"\s*:\s*"Lease(List)?"`)

// leasesBegin reports whether a file begins with a Lease, a list of them, or an
// event about one. Other objects may have a Lease within.
func leasesBegin(text []byte) bool {
	if yamlLease().Match(text) {
		return true
	}
	var first struct {
		Kind   string          `json:"kind"`
		Object json.RawMessage `json:"object"`
	}
	if !namesLease().Match(text) {
		return false
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&first); err != nil { // it may be cut
		return errors.Is(err, io.ErrUnexpectedEOF)
	}
	return first.Kind == "Lease" || strings.HasSuffix(first.Kind, "List") || namesLease().Match(first.Object)
}

// leases reads Leases.
type leases struct {
	sampleDocuments
	listed map[string]bool // leases that a list had
}

// lease is an object of Kubernetes.
type lease struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		AcquireTime *time.Time `json:"acquireTime"`
		RenewTime   *time.Time `json:"renewTime"`
		Holder      *string    `json:"holderIdentity"`
		Seconds     *int64     `json:"leaseDurationSeconds"`
		Transitions *int64     `json:"leaseTransitions"`
	} `json:"spec"`
	Items  []json.RawMessage `json:"items"`  // of a list
	Type   string            `json:"type"`   // of an event
	Object json.RawMessage   `json:"object"` // the same
}

// Leases are Leases of Kubernetes.
const Leases Format = "leases"

func openLeases(f *File, in io.Reader) (recordReader, error) {
	f.What, f.Loss = "watch of Leases", "its lease runs out"
	s := &leases{sampleDocuments: sampleDocuments{documents: newLeaseDocuments(f, in), holderSamples: newHolderSamples()},
		listed: map[string]bool{}}
	s.one = s.document
	return s, nil
}

// document reads an object, an event, or a list.
func (s *leases) document(w *words.Worker) error {
	var in lease
	if err := s.next(&in); err != nil {
		return err
	}
	at := inRaw{raw: s.raw, line: s.line}
	if len(in.Object) > 0 {
		line, typ := at.of(in.Object), in.Type
		object := in.Object
		in = lease{}
		if err := json.Unmarshal(object, &in); err != nil {
			return wrongRecord(s.file.Name, line, object, err)
		}
		return s.lease(w, &in, object, line, typ)
	}
	if in.Items == nil {
		return s.lease(w, &in, s.raw, s.line, "")
	}
	for _, item := range in.Items {
		line := at.of(item)
		var one lease
		if err := json.Unmarshal(item, &one); err != nil {
			return wrongRecord(s.file.Name, line, item, err)
		}
		if one.Kind = cmp.Or(one.Kind, "Lease"); s.listed[one.key()] {
			s.polled.Add(int32(line)) // another list
		}
		s.listed[one.key()] = true
		if err := s.lease(w, &one, item, line, ""); err != nil {
			return err
		}
	}
	return nil
}

// key is the lease's name as people write it.
func (in *lease) key() string {
	if in.Metadata.Namespace == "" {
		return in.Metadata.Name
	}
	return in.Metadata.Namespace + "/" + in.Metadata.Name
}

// lease takes a sample of a lease, with the type of the event that it is of.
// Other objects say nothing.
func (s *leases) lease(w *words.Worker, in *lease, raw []byte, line int, event string) error {
	if in.Kind != "Lease" {
		return nil
	}
	now, err := in.sighting()
	if now.change = event == "MODIFIED"; event == "DELETED" {
		now.holder, now.since, now.seen, err = "", 0, 0, nil
	}
	if err == nil {
		now.line = line
		err = s.add(w, now)
	}
	if err != nil {
		return wrongRecord(s.file.Name, line, raw, err)
	}
	return nil
}

// maxSeconds is a lease of a hundred years.
const maxSeconds = 100 * 366 * 24 * 3600

// sighting is what a lease says.
func (in *lease) sighting() (now holderSample, err error) {
	spec := &in.Spec
	now = holderSample{key: in.key(), changes: -1, version: -1}
	if now.key == "" {
		return now, errors.New("a Lease needs its metadata.name")
	}
	if spec.Holder != nil {
		now.holder = *spec.Holder
	}
	if spec.Transitions != nil && *spec.Transitions >= 0 {
		now.changes = *spec.Transitions
	}
	if n, err := strconv.ParseInt(in.Metadata.ResourceVersion, 10, 64); err == nil && n >= 0 {
		now.version = n
	}
	if now.since, err = instantOf(spec.AcquireTime); err != nil {
		return now, fmt.Errorf("acquireTime: %w", err)
	}
	if now.seen, err = instantOf(spec.RenewTime); err != nil {
		return now, fmt.Errorf("renewTime: %w", err)
	}
	if now.seen = max(now.seen, now.since); now.holder != "" && now.seen == 0 {
		return now, errors.New("the Lease has a holder, and says neither when it was acquired nor when it was renewed")
	}
	now.until = now.seen
	if spec.Seconds != nil {
		if *spec.Seconds < 0 || *spec.Seconds > maxSeconds {
			return now, fmt.Errorf("leaseDurationSeconds %d is no length of a lease", *spec.Seconds)
		}
		now.until += *spec.Seconds * int64(time.Second)
	}
	return now, nil
}

// instantOf is a time in ns since 1970; 0 where there is none.
func instantOf(t *time.Time) (int64, error) {
	if t == nil || t.IsZero() {
		return 0, nil
	}
	if y := t.UTC().Year(); y <= 1970 || y > 2150 {
		return 0, fmt.Errorf("the year %d is out of range", y)
	}
	return t.UnixNano(), nil
}
