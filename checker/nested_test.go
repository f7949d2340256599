package checker

import (
	"fmt"
	"strings"
)

// nested writes a client of a reentrant lock: it acquires, acts under any of
// its grants, and gives back the newest, mostly.
func (g *generator) nestedClient(name string) {
	t := g.rng.IntN(30)
	var levels []string
	lost := false // it knows that it has lost what it had, and will ask anew
	for round := range 3 + g.rng.IntN(8) {
		grant := fmt.Sprintf("%s%d", name, round)
		switch n := g.rng.IntN(7); {
		case len(levels) == 0 || n == 0:
			if lost {
				levels, lost = nil, false
			}
			when := g.interval(&t, 8)
			answer := [...]string{"", "", "", "", "", "info", "busy"}[g.rng.IntN(7)]
			extras := g.grantExtras(t)
			if answer != "" {
				extras = ""
			}
			g.add("%s=%s acquire %s key=k0 %s%s%s", grant, name, when, answer, extras, g.mode())
			// it may well name it in a release
			if answer == "" || answer == "info" && g.rng.IntN(2) == 0 {
				levels = append(levels, grant)
			}
		case n < 4:
			g.act(name, levels[g.rng.IntN(len(levels))], 0, &t)
			last := g.lines[len(g.lines)-1]
			lost = lost || strings.Contains(last, "declined") || strings.Contains(last, "notheld")
		default:
			i := len(levels) - 1
			if g.rng.IntN(4) == 0 {
				i = g.rng.IntN(len(levels))
			}
			answer := [...]string{"", "", "", "info", "info", "notheld", "fail"}[g.rng.IntN(7)]
			g.add("%s release %s key=k0 g=%s %s", name, g.interval(&t, 4), levels[i], answer)
			if answer != "info" && answer != "fail" || g.rng.IntN(4) == 0 {
				levels = append(levels[:i:i], levels[i+1:]...)
			}
			if answer == "notheld" {
				lost = true
			}
		}
	}
}

// mode draws the mode of an acquire, where there are any.
func (g *generator) mode() string {
	if g.several > 1 {
		return fmt.Sprintf(" permits=%d", g.rng.IntN(1+g.several))
	}
	if g.readers && g.rng.IntN(3) > 0 {
		return " mode=read"
	}
	return ""
}
