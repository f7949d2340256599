package survey

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/reports/ci"
)

// table is all libraries in a table of Markdown, in the order of the pages' index: what is told of
// them there, a line each. folder is that of the table's page.
func table(all []Library, folder string) (string, error) {
	x := index{libraries: byService(all)}
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n", x.Headline())
	b.WriteString("| library | version | service | defects | exams | stood | inherent | open |\n|---|---|---|---|---|---|---|---|\n")
	for _, group := range [][]Library{x.Examined(), x.Reported(), x.Ready(), x.Elsewhere()} {
		for _, l := range group {
			way, err := filepath.Rel(folder, filepath.Join(l.Dir, CardFile))
			if err != nil {
				return "", fmt.Errorf("find the way from a table to a card: %w", err)
			}
			fmt.Fprintf(&b, "| [%s](%s) | %s |\n", l.Card.Name, filepath.ToSlash(way), strings.Join(l.cells(), " | "))
		}
	}
	return b.String(), nil
}

// cells are the library's line of the table, after its name.
func (l Library) cells() []string {
	version, numbers := "", []string{"0", "", "", ""}
	if l.Result != nil {
		version = ci.TableText(l.Version)
		stood := fmt.Sprintf("%d of %d", l.Stood(), len(l.Attacks))
		numbers = []string{strconv.Itoa(len(l.Seeds)), stood, strconv.Itoa(l.Inherent()), strconv.Itoa(l.Open())}
	}
	return append([]string{version, l.Service, l.verdict()}, numbers...)
}

// verdict names the defects of the library, or says why it names none.
func (l Library) verdict() string {
	var words []string
	for _, m := range l.Marks() {
		text := "**" + m.Name + "**"
		if m.Note != "" {
			text += " (" + m.Note + ")"
		}
		words = append(words, text)
	}
	switch {
	case len(words) > 0:
	case l.Result != nil:
		words = append(words, "none")
	case l.NotRun != "":
		words = append(words, "not run here")
	default:
		words = append(words, "not examined yet")
	}
	for _, o := range l.Foreign() {
		words = append(words, o.Defect+", of "+ci.TableText(o.Whose))
	}
	return strings.Join(words, ", ")
}
