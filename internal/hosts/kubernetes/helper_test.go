package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

// What a helper is asked reaches it, and its answer the one that asked, many at
// once; what is no answer is passed on.
func TestHelperAnswers(t *testing.T) {
	ctx, over := context.WithCancel(t.Context())
	defer over()
	h := &helper{ctx: ctx, later: make(chan order, mostOrders), done: make(chan struct{}), over: over}
	h.asked = commands.NewAsked(asking{h})
	fromOuter, toHelper := io.Pipe()
	go h.speak(toHelper)
	var other bytes.Buffer
	out := &agent.Lines{Out: &hearing{asked: h.asked, other: &other}}
	j := &Joined{asks: make(chan commands.Ask), out: out}
	go func() {
		lines := bufio.NewScanner(fromOuter)
		for lines.Scan() {
			var o order
			if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
				t.Error(err)
			}
			if o.Ask != nil {
				j.help(ctx, o.Ask)
			}
		}
	}()
	served := make(chan error, 1)
	go func() {
		served <- j.Serve(ctx, func(_ context.Context, pod, act string, input []byte) ([]byte, error) {
			if act == "fail" {
				return nil, errors.New("it can't")
			}
			return fmt.Appendf(nil, "%s of %s with %s", act, pod, input), nil
		})
	}()
	fmt.Fprintln(out, "no answer")
	answers := make(chan string)
	for i := range 20 {
		go func() {
			got, err := h.asked.Act(ctx, "web", "this", fmt.Append(nil, i))
			if want := fmt.Sprintf("this of web with %d", i); err != nil || string(got) != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
			answers <- string(got)
		}()
	}
	for range 20 {
		<-answers
	}
	if _, err := h.asked.Act(ctx, "web", "fail", nil); err == nil || err.Error() != "it can't" {
		t.Errorf("%v", err)
	}
	over()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if other.String() != "an agent says: no answer\n" {
		t.Errorf("it said %q", other.String())
	}
	if _, err := h.asked.Act(ctx, "web", "this", nil); err == nil {
		t.Error("a helper that is lost is asked")
	}
}
