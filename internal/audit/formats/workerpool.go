package formats

import (
	"bytes"
	"errors"
	"io"
	"runtime"

	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// job is a block that is being understood.
type job struct {
	block  block
	worker int
	done   chan words.BlockResult
}

// workerPool is workers that understand blocks side by side.
type workerPool struct {
	jobs    chan *job
	open    []*job // in the order of the log
	known   []words.Numbering
	workers int
}

// blockWorker is a worker that takes blocks apart itself.
type blockWorker struct {
	*words.Worker
	split splitter
}

// block understands a block.
func (h *blockWorker) block(b block) words.BlockResult {
	return h.Gather(func() error { return h.split.split(h.Worker, b) })
}

func newWorkerPool(n int, hire func() *blockWorker) *workerPool {
	c := &workerPool{jobs: make(chan *job, 2*n), known: make([]words.Numbering, n), workers: n}
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

func (c *workerPool) give(b block) {
	j := &job{block: b, done: make(chan words.BlockResult, 1)}
	c.open = append(c.open, j)
	c.jobs <- j
}

// full reports whether the oldest job is to be waited for before another one is given.
func (c *workerPool) full() bool { return len(c.open) >= 2*c.workers }

// oldest waits for the job that was given first.
func (c *workerPool) oldest() (*job, words.BlockResult) {
	j := c.open[0]
	c.open = c.open[1:]
	return j, <-j.done
}

// read understands the blocks of a log side by side, on all processors, and
// takes what they say in their order. So names are numbered, and the first
// error is told, as by one that reads the log from its beginning to its end.
func (r *rowReader) read(blocks *cutter) error {
	crew := newWorkerPool(runtime.GOMAXPROCS(0), r.hire)
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
			if cut, ok := errors.AsType[*cutBlock](p.Err); ok {
				rest := append([]io.Reader{bytes.NewReader(j.block.data[cut.until:])}, crew.unread(b, end)...)
				return r.readOn(r.hire(), j.block.place(cut.until), append(rest, blocks))
			}
			if p.Err != nil {
				return p.Err
			}
			blocks.free = append(blocks.free, j.block.data)
		}
		if errors.Is(end, errNoBorder) {
			if end = r.rows.endless(b); end == nil {
				return r.readOn(r.hire(), b.place(0), []io.Reader{bytes.NewReader(b.data), blocks})
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

// unread is what the open jobs were given, and the block that was read last
// where it was given to none.
func (c *workerPool) unread(b block, end error) (rest []io.Reader) {
	for _, j := range c.open {
		rest = append(rest, bytes.NewReader(j.block.data))
	}
	if errors.Is(end, errNoBorder) {
		rest = append(rest, bytes.NewReader(b.data))
	}
	return rest
}

// take takes over what a block says.
func (r *rowReader) take(known *words.Numbering, said *words.BlockResult) error {
	known.Take(said, &r.file.Keys, &r.file.Owners)
	r.found.Add(&said.Found)
	r.some = r.some || len(said.Events) > 0
	return r.file.Take(said)
}

// readOn understands the rest of a log in JSON that has no borders which tell blocks apart.
func (r *rowReader) readOn(w *blockWorker, at value, rest []io.Reader) error {
	known, split := &words.Numbering{}, w.split.(*splitJSON)
	f := split.values(io.MultiReader(rest...), at)
	for {
		p := w.Gather(func() error { return split.some(w.Worker, f) })
		if err := r.take(known, &p); err != nil {
			return err
		}
		if errors.Is(p.Err, io.EOF) {
			return nil
		}
		if p.Err != nil {
			return p.Err
		}
	}
}
