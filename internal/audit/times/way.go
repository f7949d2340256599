package times

// Way is the way in which the times of a log run, line by line.
type Way struct {
	last                 int64
	lines                int
	rises, falls, levels int
}

// Add takes the next line.
func (w *Way) Add(at int64) {
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
func (w *Way) Turns() bool { return w.rises > 0 && w.falls > 0 }

// NewestFirst reports whether nearly all times fall, and some lines have one time.
func (w *Way) NewestFirst() bool { return w.levels > 0 && w.falls > 4*w.rises }
