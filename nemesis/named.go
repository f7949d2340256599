package nemesis

import (
	"slices"
	"strconv"
	"strings"
)

// Number is the number of the client that the target names, as its host is
// called: 3 for "client-3"; 0: it names none.
func (t Target) Number() int32 {
	digits, named := strings.CutPrefix(string(t), "client-")
	n, err := strconv.ParseInt(digits, 10, 32)
	if !named || err != nil || n < 1 || digits != strconv.FormatInt(n, 10) {
		return 0
	}
	return int32(n)
}

// listed are the nodes that the target names, one or several with commas
// between them, in the order of all; nil: it is another word.
func (t Target) listed(all []string) (names []string) {
	said := strings.Split(string(t), ",")
	for _, name := range said {
		if !slices.Contains(all, name) {
			return nil
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !slices.Contains(said, n) })
}
