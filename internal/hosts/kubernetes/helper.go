package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/hosts/commands"
)

// Where an application is on several nodes of the cluster, each of them has an
// agent. One holds the inner program; the others are its helpers, and do what
// it asks by way of outer. Each heals and ends by itself as the first one does.

// helper is an agent on another node.
type helper struct {
	ctx   context.Context // ends with it
	asked *commands.Asked
	later chan order // what it is told; so one whose node is cut off holds up nobody
	done  chan struct{}
	over  context.CancelFunc
}

// helpers are those of a scenario, by their nodes. Safe for concurrent use.
type helpers struct {
	mu   sync.Mutex
	all  map[string]*helper
	ends sync.WaitGroup
}

// mostOrders is how many words a helper may not have heard before more of them are dropped.
const mostOrders = 4096

// helper is the one on a node, which is made if there is none; nil: the inner
// program is there itself.
func (s *scenario) helper(ctx context.Context, node string) (*helper, error) {
	if node == s.node.Name {
		return nil, nil
	}
	s.helpers.mu.Lock()
	defer s.helpers.mu.Unlock()
	if h := s.helpers.all[node]; h != nil {
		return h, nil
	}
	h, err := s.newHelper(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("the agent on %s: %w", node, err)
	}
	if s.helpers.all == nil {
		s.helpers.all = map[string]*helper{}
	}
	s.helpers.all[node] = h
	return h, nil
}

// newHelper starts one, and tells it of all members.
func (s *scenario) newHelper(ctx context.Context, node string) (*helper, error) {
	if err := s.create(ctx, s.agents(), s.agentPod(node)); err != nil {
		return nil, err
	}
	starting, started := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it did not run after %v", startLimit))
	defer started()
	its := func(ctx context.Context) ([]corev1.Pod, error) {
		return s.podsFrom(ctx, source{namespace: s.agents(), name: s.agentName(node)})
	}
	if _, err := s.await(starting, node, its, 1); err != nil {
		return nil, err
	}
	h := s.attachHelper(ctx, node)
	told := s.told
	told.On, told.Helper, told.Seats, told.Nodes = node, true, nil, s.places.handed()
	h.later <- order{Handover: &told}
	return h, nil
}

// attachHelper connects to a helper.
func (s *scenario) attachHelper(ctx context.Context, node string) *helper {
	in, w := io.Pipe()
	living, over := context.WithCancel(context.WithoutCancel(ctx))
	h := &helper{ctx: living, later: make(chan order, mostOrders), done: make(chan struct{}), over: over}
	h.asked = commands.NewAsked(asking{h})
	s.helpers.ends.Go(func() {
		defer over()
		err := s.attach(living, s.agents(), s.agentName(node), in, &hearing{asked: h.asked, other: s.Stderr}, s.Stderr)
		select {
		case <-h.done:
		default: // nobody knows what becomes of the clients there
			fmt.Fprintf(s.Stderr, "the agent on %s is lost, and so the run ends: %v\n", node, err)
			s.agent.in.Close()
		}
	})
	s.helpers.ends.Go(func() { h.speak(w) })
	return h
}

// speak tells the helper what there is to tell, and that outer lives.
func (h *helper) speak(in *io.PipeWriter) {
	defer in.Close()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	lines := json.NewEncoder(in)
	for {
		var o order
		select {
		case <-h.ctx.Done():
			return
		case <-h.done:
			return
		case o = <-h.later:
		case <-tick.C:
		}
		if lines.Encode(o) != nil {
			return
		}
	}
}

// there has the helper on a node do something. It is waited for until it, or
// the inner program, has ended.
func (s *scenario) there(ctx context.Context, node, pod, act string, input []byte) ([]byte, error) {
	h, err := s.helper(ctx, node)
	if err != nil || h == nil {
		return nil, errors.Join(err, fmt.Errorf("no helper is asked for %s on %s", pod, node))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	return h.asked.Act(ctx, pod, act, input)
}

// say tells all helpers.
func (s *helpers) say(o order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.all {
		h.tell(o)
	}
}

func (h *helper) tell(o order) {
	select {
	case h.later <- o:
	default: // it hears nothing, and will have ended by the time it could
	}
}

// close ends the helpers: their input ends, so they heal and go.
func (s *helpers) close() {
	s.mu.Lock()
	for _, h := range s.all {
		close(h.done)
		defer time.AfterFunc(agent.Grace, h.over).Stop()
	}
	s.mu.Unlock()
	s.ends.Wait()
}

// asking is the way of a question to a helper.
type asking struct{ *helper }

// Write takes one line.
func (a asking) Write(line []byte) (int, error) {
	if a.ctx.Err() != nil {
		return 0, errors.New("the agent there is lost")
	}
	a.tell(order{Ask: bytes.Clone(line)})
	return len(line), nil
}

// answered is a helper's answer, as a line of its output.
type answered struct {
	Told commands.Told `json:"told"`
}

// toldMark begins such lines.
var toldMark = []byte(`{"told":`)

// hearing is the writer of a helper's output.
type hearing struct {
	asked *commands.Asked
	other io.Writer
	rest  remnant
}

// Write takes whole lines.
func (b *hearing) Write(p []byte) (int, error) {
	return b.rest.write(p, b.take)
}

func (b *hearing) take(line []byte) error {
	if !bytes.HasPrefix(line, toldMark) {
		fmt.Fprintf(b.other, "an agent says: %.500s\n", bytes.TrimSuffix(line, []byte{'\n'}))
		return nil
	}
	var a answered
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("read what an agent answers: %w", err)
	}
	b.asked.Hear(a.Told)
	return nil
}

// handed are all clients with their pods, as an agent is told of them.
func (p *places) handed() (all []handedNode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.all {
		if n, err := handed(h.Name, h.pod, h.container, false); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// Help is what a helper does for the inner program: something with a pod of its node.
type Help func(ctx context.Context, pod, act string, input []byte) (answer []byte, err error)

// Helper reports whether this agent is one.
func (j *Joined) Helper() bool { return j.told.Helper }

// Serve does what it is asked for until ctx ends.
func (j *Joined) Serve(ctx context.Context, help Help) error {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case ask := <-j.asks:
			all.Go(func() {
				told := commands.Told{Exec: ask.Exec}
				answer, err := help(ctx, ask.Node, ask.Act, ask.Input)
				if err != nil {
					told.Failed = err.Error()
				} else {
					told.Ended = &hosts.Executed{Stdout: answer}
				}
				_ = j.out.Say(answered{told}) // nobody hears it any more: our input has ended, too
			})
		}
	}
}

// help takes what a helper is asked for.
func (j *Joined) help(ctx context.Context, line []byte) {
	var ask commands.Ask
	if json.Unmarshal(line, &ask) != nil || ask.Act == "" {
		return // nobody waits for what was asked before
	}
	select {
	case j.asks <- ask:
	case <-ctx.Done():
	}
}
