package audit

import (
	"bytes"
	"errors"
	"io"
	"runtime"
)

// job is a block that is being understood.
type job struct {
	block  block
	worker int
	done   chan parsed
}

// crew is workers that understand blocks side by side.
type crew struct {
	jobs    chan *job
	open    []*job // in the order of the log
	known   []numbering
	workers int
}

// numbering gives the numbers that a worker has for keys and owners those of the log.
type numbering struct{ keys, owners []int32 }

func newCrew(n int, hire func() *worker) *crew {
	c := &crew{jobs: make(chan *job, 2*n), known: make([]numbering, n), workers: n}
	for i := range n {
		w := hire()
		go func() {
			for j := range c.jobs {
				j.worker = i
				j.done <- w.block(j.block)
			}
		}()
	}
	return c
}

func (c *crew) give(b block) {
	j := &job{block: b, done: make(chan parsed, 1)}
	c.open = append(c.open, j)
	c.jobs <- j
}

// full reports whether the oldest job is to be waited for before another one is given.
func (c *crew) full() bool { return len(c.open) >= 2*c.workers }

// oldest waits for the job that was given first.
func (c *crew) oldest() (*job, parsed) {
	j := c.open[0]
	c.open = c.open[1:]
	return j, <-j.done
}

// read understands the blocks of a log side by side, on all processors, and takes what they say in their order. So names
// are numbered, and the first error is told, as by one that reads the log from its beginning to its end.
func (r *auditReader) read(blocks *cutter, lines lineReader) error {
	hire := func() *worker { return newWorker(lines, r.log.file, r.columns, r.rows.splitter()) }
	crew := newCrew(runtime.GOMAXPROCS(0), hire)
	defer close(crew.jobs)
	for {
		b, end := blocks.next()
		if end == nil {
			crew.give(b)
		}
		for len(crew.open) > 0 && (end != nil || crew.full()) {
			j, p := crew.oldest()
			if err := r.take(&crew.known[j.worker], &p); err != nil {
				return err
			}
			if errors.Is(p.err, errCut) {
				rest := append([]io.Reader{bytes.NewReader(j.block.data[p.rest:])}, crew.unread(b, end)...)
				return r.readOn(hire(), j.block.place(p.rest), append(rest, blocks))
			}
			if p.err != nil {
				return p.err
			}
			blocks.free = append(blocks.free, j.block.data)
		}
		if errors.Is(end, errNoBorder) {
			if end = r.rows.endless(b); end == nil {
				return r.readOn(hire(), b.place(0), []io.Reader{bytes.NewReader(b.data), blocks})
			}
		}
		if errors.Is(end, io.EOF) {
			return nil
		}
		if end != nil {
			return end
		}
	}
}

// unread is what the open jobs were given, and the block that was read last where it was given to none.
func (c *crew) unread(b block, end error) (rest []io.Reader) {
	for _, j := range c.open {
		rest = append(rest, bytes.NewReader(j.block.data))
	}
	if errors.Is(end, errNoBorder) {
		rest = append(rest, bytes.NewReader(b.data))
	}
	return rest
}

// take takes over what a block says.
func (r *auditReader) take(known *numbering, p *parsed) error {
	if err := r.clock.CheckZone(r.log.file, p.bare, p.zoned); err != nil {
		return err
	}
	if p.anew {
		*known = numbering{}
	}
	for _, name := range p.keys {
		known.keys = append(known.keys, r.log.keys.id(name))
	}
	for _, name := range p.owners {
		known.owners = append(known.owners, r.log.owners.id(name))
	}
	for i := range p.entries {
		e := &p.entries[i]
		e.key, e.owner = known.keys[e.key], known.owners[e.owner]
		r.clock.Follow(&e.Stamp, e.line, &p.seen)
		r.add(e)
	}
	r.granted = r.granted || p.granted
	r.found.add(&p.found)
	r.stamps.Seen.Add(p.seen)
	return nil
}

func (r *auditReader) add(e *entry) {
	r.way.Add(e.At)
	r.first, r.last = min(r.first, e.At), max(r.last, e.At)
	for len(r.zeros) < len(r.log.keys.list) {
		r.zeros, r.counted = append(r.zeros, false), append(r.counted, false)
	}
	r.zeros[e.key] = r.zeros[e.key] || e.token == ticket(0)
	r.counted[e.key] = r.counted[e.key] || e.token > ticket(0)
	r.entries.Add(*e)
}

// readOn understands the rest of a log in JSON that has no borders which tell blocks apart.
func (r *auditReader) readOn(w *worker, at form, rest []io.Reader) error {
	known, split := &numbering{}, w.split.(*splitJSON)
	f := split.forms(io.MultiReader(rest...), at)
	for {
		p := w.gather(func() error { return split.some(w, f) })
		if err := r.take(known, &p); err != nil {
			return err
		}
		if errors.Is(p.err, io.EOF) {
			return nil
		}
		if p.err != nil {
			return p.err
		}
	}
}
