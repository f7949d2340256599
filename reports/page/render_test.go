package page

import "testing"

func TestHref(t *testing.T) {
	for in, want := range map[string]string{"a.b.c": "./a.b.c/report.html", "../../etc": "./etc/report.html",
		"javascript:alert(1)": "./javascript:alert%281%29/report.html",
		"a b?c#d":             "./a%20b%3Fc%23d/report.html", "//host": "./host/report.html"} {
		if got := href(in, "report.html"); got != want {
			t.Errorf("href(%q) = %q, want %q", in, got, want)
		}
	}
}
