package times

// Direction is the way in which the times of a log run, line by line.
type Direction struct {
	last                 int64
	lines                int
	rises, falls, levels int
}

// Add takes the next line.
func (w *Direction) Add(at int64) {
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

// Turns reports whether times rise and fall.
func (w *Direction) Turns() bool { return w.rises > 0 && w.falls > 0 }

// NewestFirst reports whether nearly all times fall, and some lines have one time.
func (w *Direction) NewestFirst() bool { return w.levels > 0 && w.falls > 4*w.rises }
