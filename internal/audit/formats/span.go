package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
)

// number is a whole number, which some write as a string.
type number = json.Number

// spanJSON is a span, by the members of all three forms.
type spanJSON struct {
	Name          string `json:"name"`
	OperationName string `json:"operationName"` // Jaeger's
	// ns, OpenTelemetry's
	StartTimeUnixNano number `json:"startTimeUnixNano"`
	EndTimeUnixNano   number `json:"endTimeUnixNano"`
	// us, Jaeger's and Zipkin's
	StartTime     number          `json:"startTime"`
	Timestamp     number          `json:"timestamp"`
	Duration      number          `json:"duration"`
	Attributes    []attribute     `json:"attributes"`
	Tags          json.RawMessage `json:"tags"`
	ProcessID     string          `json:"processID"`
	Process       *processJSON    `json:"process"`
	LocalEndpoint map[string]any  `json:"localEndpoint"`
}

type processJSON struct {
	ServiceName string      `json:"serviceName"`
	Tags        []attribute `json:"tags"`
}

// attribute is one of OpenTelemetry's, whose value has a member for its type, or a tag of Jaeger's.
type attribute struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func (a attribute) put(to map[string]string) {
	v := a.Value
	if typed, ok := v.(map[string]any); ok {
		for _, inner := range typed {
			v = inner
		}
	}
	switch v.(type) {
	case nil, map[string]any, []any:
	default:
		to[a.Key] = strings.TrimSpace(fmt.Sprint(v))
	}
}

// texts are the times of a span and its attributes.
func (in *spanJSON) texts() (map[string]string, error) {
	texts := map[string]string{}
	if in.Process != nil {
		in.Process.put(texts)
	}
	for name, v := range in.LocalEndpoint {
		texts["localEndpoint."+name] = fmt.Sprint(v)
	}
	var tags []attribute
	var named map[string]any
	switch {
	case len(in.Tags) == 0:
	case json.Unmarshal(in.Tags, &tags) == nil:
	case json.Unmarshal(in.Tags, &named) == nil:
		for name, v := range named {
			tags = append(tags, attribute{name, v})
		}
	default:
		return nil, errors.New("its tags are neither a list nor an object")
	}
	for _, a := range append(in.Attributes, tags...) {
		a.put(texts)
	}
	delete(texts, spanStart)
	delete(texts, spanEnd)
	return texts, in.times(texts)
}

// times adds when a span began and ended, in ns. One that has not ended has no end.
func (in *spanJSON) times(texts map[string]string) error {
	if in.StartTimeUnixNano != "" {
		texts[spanStart] = in.StartTimeUnixNano.String()
		if in.EndTimeUnixNano != "" && in.EndTimeUnixNano != "0" {
			texts[spanEnd] = in.EndTimeUnixNano.String()
		}
		return nil
	}
	start := cmp.Or(in.StartTime, in.Timestamp)
	if start == "" {
		return errors.New("the span does not say when it began")
	}
	begin, err := strconv.ParseInt(start.String(), 10, 64)
	if err != nil || begin < 0 || begin > maxMicros {
		return fmt.Errorf("the span's start %q is no time (microseconds)", remarks.Excerpt(start.String()))
	}
	texts[spanStart] = strconv.FormatInt(begin*1000, 10)
	if in.Duration == "" {
		return nil
	}
	lasts, err := strconv.ParseInt(in.Duration.String(), 10, 64)
	if err != nil || lasts < 0 || lasts > maxMicros {
		return fmt.Errorf("the span's duration %q is no length (microseconds)", remarks.Excerpt(in.Duration.String()))
	}
	texts[spanEnd] = strconv.FormatInt((begin+lasts)*1000, 10)
	return nil
}

// maxMicros is a time of the year 2112.
const maxMicros = 1 << 52

func (p *processJSON) put(to map[string]string) {
	if p.ServiceName != "" {
		to["service.name"] = p.ServiceName
	}
	for _, a := range p.Tags {
		a.put(to)
	}
}
