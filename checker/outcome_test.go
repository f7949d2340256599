package checker

import "testing"

// TestNames: every outcome and severity is read as it is written; what there is
// not has a name that is on the safe side.
func TestNames(t *testing.T) {
	for o := Inconclusive; o <= NotJudged; o++ {
		got := Outcome(99)
		if err := got.UnmarshalText([]byte(o.String())); err != nil || got != o {
			t.Errorf("%v is read as %v, %v", o, got, err)
		}
	}
	for v := SeverityNone; v <= Corrupting; v++ {
		got := Severity(99)
		if err := got.UnmarshalText([]byte(v.String())); err != nil || got != v {
			t.Errorf("%v is read as %v, %v", v, got, err)
		}
	}
	for _, beyond := range [2]uint8{uint8(NotJudged) + 1, 200} {
		if o, v := Outcome(beyond).String(), Severity(beyond).String(); o != "inconclusive" || v != "none" {
			t.Errorf("%d is called %s, %s", beyond, o, v)
		}
	}
	for _, text := range [2]string{"", "passed"} {
		o, v := Violated, Corrupting
		if o.UnmarshalText([]byte(text)) == nil || v.UnmarshalText([]byte(text)) == nil || o != Violated || v != Corrupting {
			t.Errorf("%q is read as %v, %v", text, o, v)
		}
	}
}
