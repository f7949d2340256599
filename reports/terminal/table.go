package terminal

import (
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lockchaos/lockchaos/harmless"
)

// Table writes rows, the first of them being the heading, in columns that are aligned.
func Table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 2, 0, 3, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = harmless.Line(row[i])
		}
		harmless.Fprintln(t, harmless.Safe(strings.Join(row, "\t")))
	}
	return t.Flush()
}
