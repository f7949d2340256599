package story

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestProtocolWords: each member that an adapter may declare is explained, and each value of it,
// as are the errors and the stamps. The source of both is the reader of adapters' lines.
func TestProtocolWords(t *testing.T) {
	source, err := os.ReadFile("../../adapter/parse.go")
	if err != nil {
		t.Fatal(err)
	}
	_, declares, found := strings.Cut(string(source), "\nfunc (r *reader) declaration(")
	if !found {
		t.Fatal("adapter/parse.go has no declaration")
	}
	means := map[string][]string{}
	for _, term := range Protocol() {
		means[term.Word] = append(means[term.Word], term.Means)
		if term.Means == "" || term.Brief() == "" || term.Do == "" || term.Sort != SortProtocol || strings.Contains(term.Means, "](") {
			t.Errorf("%+v", term)
		}
		file, anchor, _ := strings.Cut(term.See, "#")
		text, err := os.ReadFile("../../docs/" + file)
		if err != nil || !strings.Contains(strings.ToLower(strings.ReplaceAll(string(text), " ", "-")), "#-"+anchor+"\n") {
			t.Errorf("docs/%s is not there: %v", term.See, err)
		}
	}
	words := []string{"busy", "not_held", "unsupported", "attempt_ns", "first_ns", "enqueued_ns"}
	for _, m := range regexp.MustCompile(`r\.(?:text|flag|take|oneOf|someOf|milliseconds|number)\(("[^)]*)\)`).FindAllStringSubmatch(declares, -1) {
		all := regexp.MustCompile(`"([a-z_-]+)"`).FindAllStringSubmatch(m[1], -1)
		words = append(words, all[0][1])
		if strings.Contains(m[0], "oneOf") && !slices.Contains([]string{"job", "misfire"}, all[0][1]) { // theirs are in their text
			for _, value := range all[1:] {
				words = append(words, value[1])
			}
		}
	}
	for _, word := range words {
		if len(means[word]) == 0 {
			t.Errorf("%q is not explained", word)
		}
	}
	if len(words) < 40 || !strings.HasPrefix(strings.Join(means["session"], " "), "As validity: a grant is promised until a lost-event") ||
		len(means["none"]) != 2 || !strings.Contains(means["validity"][0], "library: the same") {
		t.Errorf("%d words; %q; %q; %q", len(words), means["session"], means["none"], means["validity"])
	}
}
