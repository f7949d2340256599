// Package remarks holds what the readers of a log have to say besides what they
// read: what they took for granted, what they left out, and which lines leave
// it open who held a lock. An answer lists them before its finding.
package remarks

import "fmt"

// Remarks are the remarks on one log, in full sentences.
type Remarks struct {
	// Assumed says what was taken for granted, Left what was left out.
	Assumed, Left []string
	// Open has lines that leave it open who held a lock: of each kind the first.
	Open []Open
}

// Assume notes what is taken for granted.
func (r *Remarks) Assume(format string, args ...any) {
	r.Assumed = append(r.Assumed, fmt.Sprintf(format, args...))
}

// Leave notes what is left out.
func (r *Remarks) Leave(format string, args ...any) {
	r.Left = append(r.Left, fmt.Sprintf(format, args...))
}

// Doubt notes lines that leave it open who held a lock, if there are any.
func (r *Remarks) Doubt(lines Tally, text string) {
	if lines.N > 0 {
		r.Open = append(r.Open, Open{Line: int(lines.First), Text: text, Like: lines.N - 1})
	}
}

// Add adds the remarks of another reader.
func (r *Remarks) Add(more *Remarks) {
	r.Assumed, r.Left, r.Open = append(r.Assumed, more.Assumed...), append(r.Left, more.Left...),
		append(r.Open, more.Open...)
}

// Open is a line that leaves it open who held a lock.
type Open struct {
	Line int
	Text string
	Like int // how many other lines are like it
}

// Tally counts lines of one kind.
type Tally struct {
	N     int
	First int32 // the line of the first
}

// Add counts a line.
func (t *Tally) Add(line int32) {
	if t.N == 0 {
		t.First = line
	}
	t.N++
}

// Join counts the lines that another tally has counted, which come later.
func (t *Tally) Join(later Tally) {
	if t.N == 0 {
		t.First = later.First
	}
	t.N += later.N
}

// Excerpt shortens a text of a log for a message.
func Excerpt(text string) string {
	const longest = 60
	if r := []rune(text[:min(len(text), 4*longest)]); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return text
}

// Count writes a number with its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Were writes a number with its noun and the verb.
func Were(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " was"
	}
	return Count(n, noun) + " were"
}
