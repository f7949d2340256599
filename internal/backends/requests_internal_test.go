package backends

import (
	"context"
	"strings"
	"testing"
)

func TestFigures(t *testing.T) {
	if n, err := figure("mntr", "packets", field("version\t3\npackets\t1234\nsent\t9\n", "packets\t")); n != 1234 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for text, want := range map[string]string{"": "mntr tells no packets", "many": `packets is "many", no number`} {
		if _, err := figure("mntr", "packets", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSumOfACounter(t *testing.T) {
	text := "# HELP a_total x\n# TYPE a_total counter\na_total{m=\"x y\"} 3\na_total{m=\"z\"} 1e+02\na_total_more 7\na_total 2\n"
	if n, err := sumOf(strings.NewReader(text), "a_total"); n != 105 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for text, want := range map[string]string{"b 1\n": "tell no a_total", "a_total x\n": "invalid syntax"} {
		if _, err := sumOf(strings.NewReader(text), "a_total"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A server that is not known to tell is an error that names the node.
func TestRequestsOfTheUnknown(t *testing.T) {
	s := &Service{Nodes: []*Node{{Name: "oracle-1", spec: NodeSpec{Program: &Program{Name: "oracle"}}}}}
	if _, err := s.Requests(context.Background()); err == nil || !strings.Contains(err.Error(), "oracle-1") {
		t.Errorf("%v", err)
	}
}
