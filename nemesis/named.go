package nemesis

import (
	"slices"
	"strings"
)

// listed are the nodes that the target names, one or several with commas between them, in the order of all; nil: it is another word.
func (t Target) listed(all []string) (names []string) {
	said := strings.Split(string(t), ",")
	for _, name := range said {
		if !slices.Contains(all, name) {
			return nil
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !slices.Contains(said, n) })
}
