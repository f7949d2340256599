package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/redact"
)

// Tell runs every check and prints what comes of each, without passwords. version is that of the
// service. It returns the worst outcome: Broke, Failed, or Passed where nothing is wrong.
func Tell(ctx context.Context, b *Bench, version string, to io.Writer) (worst Outcome, err error) {
	out := redact.NewWriter(to)
	defer func() { err = errors.Join(err, out.Flush()) }()
	harmless.Fprintf(out, "%s\non %s, TTL %v\n\n", b.Command, strings.TrimSpace(b.Service+" "+version),
		cmp.Or(b.TTL, b.Usual))
	count, n := map[Outcome]int{}, 0
	err = Run(ctx, b, func(r Result) {
		n++
		count[r.Outcome]++
		harmless.Fprintf(out, "%2d  %-6s  %s", n, r.Outcome, r.Check)
		switch r.Outcome {
		case Passed, NotApplicable:
			harmless.Fprintln(out, r.aside())
		default:
			r.explain(out)
		}
	})
	if err != nil {
		return "", err
	}
	for _, wrong := range []Outcome{Broke, Failed} {
		if count[wrong] > 0 {
			harmless.Fprintf(out, "\n%d of %d checks passed\n", count[Passed], n)
			return wrong, nil
		}
	}
	rest := ""
	if open := count[NotShown]; open > 0 {
		rest = fmt.Sprintf(", and what %d ask was not shown (?)", open)
	}
	harmless.Fprintf(out, "\nnothing is wrong: %d checks passed%s\n", count[Passed], rest)
	return Passed, nil
}

// aside is what else a line says of a check that nothing is wrong with.
func (r Result) aside() string {
	if r.Text == "" {
		return ""
	}
	return " (" + r.Text + ")"
}

// explain prints what is wrong, and what was said.
func (r Result) explain(out io.Writer) {
	const margin = "      "
	harmless.Fprintf(out, "\n%s%s\n", margin, harmless.Block(r.Text, margin))
	for _, line := range r.Exchange {
		harmless.Fprintf(out, "%s  %s\n", margin, line)
	}
	if r.Advice != "" {
		harmless.Fprintf(out, "%s%s\n", margin, harmless.Block(r.Advice, margin))
	}
}
