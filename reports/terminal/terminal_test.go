package terminal

import (
	"io"
	"testing"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// TestGoldenMatrix does the same for the terminal.
func TestGoldenMatrix(t *testing.T) {
	for name, text := range map[string]string{
		"matrix.golden.txt":        reporttest.Text(t, func(w io.Writer) error { return Matrix(w, reporttest.Mixed(), false, 140) }),
		"matrix-narrow.golden.txt": reporttest.Text(t, func(w io.Writer) error { return Matrix(w, reporttest.Mixed(), false, 60) }),
		"matrix-coloured.golden.txt": reporttest.Text(t,
			func(w io.Writer) error { return Matrix(harmless.NewWriter(w), reporttest.Stories(), true, 0) }),
	} {
		t.Run(name, func(t *testing.T) { reporttest.Golden(t, name, text) })
	}
}
