package audit

// way is the way in which the times of a log run, line by line.
type way struct {
	last                 int64
	lines                int
	rises, falls, levels int
}

// add takes the next line.
func (w *way) add(at int64) {
	switch {
	case w.lines == 0:
	case at > w.last:
		w.rises++
	case at < w.last:
		w.falls++
	default:
		w.levels++
	}
	w.last = at
	w.lines++
}

// newestFirst reports whether nearly all times fall, and some lines have one time.
func (w *way) newestFirst() bool { return w.levels > 0 && w.falls > 4*w.rises }

// inOrder returns what gives the lines of the log in order of time, one by one; nil ends them. An entry is good until the next call.
func (r *auditReader) inOrder() func() *entry {
	in := r.entries.InOrder()
	if !r.way.newestFirst() {
		return in.Next
	}
	var alike []entry // of one time, the last one first
	next := in.Next()
	return func() *entry {
		if len(alike) == 0 {
			for next != nil && (len(alike) == 0 || next.at == alike[0].at) {
				alike = append(alike, *next)
				next = in.Next()
			}
			if len(alike) == 0 {
				return nil
			}
		}
		e := alike[len(alike)-1]
		alike = alike[:len(alike)-1]
		return &e
	}
}
