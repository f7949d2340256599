package sim

// event is something that happens at a virtual time: a function, or the wake of a task if gen is
// still the task's generation.
type event struct {
	at   int64
	tie  uint32 // drawn: the order of events of one instant follows the seed
	seq  uint64
	task *Task
	gen  uint64
	fn   func()
}

func (e *event) before(o *event) bool {
	switch {
	case e.at != o.at:
		return e.at < o.at
	case e.tie != o.tie:
		return e.tie < o.tie
	}
	return e.seq < o.seq
}

// stale reports whether the event is a wake that nobody waits for any more.
func (e *event) stale() bool { return e.task != nil && (e.task.done || e.task.gen != e.gen) }

// queue is a heap of events. The one of container/heap would box each of them.
type queue []event

func (q *queue) push(e event) {
	*q = append(*q, e)
	s := *q
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s[i].before(&s[parent]) {
			return
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (q *queue) pop() event {
	s := *q
	top, n := s[0], len(s)-1
	s[0], s[n] = s[n], event{}
	s = s[:n]
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && s[child+1].before(&s[child]) {
			child++
		}
		if !s[child].before(&s[i]) {
			break
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
	*q = s
	return top
}

// without returns the queue without some events.
func (q queue) without(drop func(*event) bool) (kept queue) {
	for i := range q {
		if !drop(&q[i]) {
			kept.push(q[i])
		}
	}
	return kept
}
