package spelling

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"quick", "quick", 0}, {"qiuck", "quick", 2}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"pause", "throttle", "pause", "cause"}
	for word, want := range map[string]string{"ause": "; did you mean pause, or cause?",
		"throtle": "; did you mean throttle?", "moon": ""} {
		if got := Suggest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
