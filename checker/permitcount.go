package checker

import "math"

// permitCount tells how many permits may have been given at one time on a key with several: for
// each settled grant a step up, by what it has, at the end of its acquire, and one down
// where it is in nobody's way any more. It is a tree by time (a treap) with sums, so that to
// ask costs a logarithm; to compare each grant with all beside it would cost the square of
// the permits. There are no pointers in it: behind an acquire that stays open it is large.
type permitCount struct {
	steps []permitStep // the first is none
	spare []int32
	root  int32
	drawn uint32
	// base is the sum of the steps that are forgotten, all before since.
	base  int32
	since int64
	// odd: the stamps of one make no sense, so the steps say nothing.
	odd bool
}

type permitStep struct {
	at          int64
	rank        uint32
	left, right int32
	step        int32
	// of the steps from here down: their sum, and the greatest sum of the first
	// of them, one at least
	sum, most int32
}

// add adds a grant of so many permits that may have been beside others from one
// instant until before another.
func (c *permitCount) add(from, to int64, takes uint8) {
	if c.steps == nil {
		c.steps = append(c.steps, permitStep{most: math.MinInt32 / 2})
		c.drawn, c.since = 1, math.MinInt64
	}
	c.insert(from, int32(takes))
	c.insert(max(to, from+1), -int32(takes))
}

func (c *permitCount) insert(at int64, step int32) {
	c.drawn ^= c.drawn << 13
	c.drawn ^= c.drawn >> 17
	c.drawn ^= c.drawn << 5
	x := permitStep{at: at, rank: c.drawn, step: step, sum: step, most: step}
	var i int32
	if n := len(c.spare); n > 0 {
		i, c.spare = c.spare[n-1], c.spare[:n-1]
		c.steps[i] = x
	} else {
		i, c.steps = int32(len(c.steps)), append(c.steps, x)
	}
	before, after := c.split(c.root, at, step)
	c.root = c.join(c.join(before, i), after)
}

// split parts a tree: what comes before a step, steps down first where instants
// are equal, and the rest.
func (c *permitCount) split(i int32, at int64, step int32) (before, after int32) {
	if i == 0 {
		return 0, 0
	}
	x := &c.steps[i]
	if x.at < at || x.at == at && x.step < step {
		x.right, after = c.split(x.right, at, step)
		before = i
	} else {
		before, x.left = c.split(x.left, at, step)
		after = i
	}
	c.sumUp(x)
	return before, after
}

// join puts two trees together, of which one is wholly before the other.
func (c *permitCount) join(before, after int32) int32 {
	if before == 0 || after == 0 {
		return before + after
	}
	x, y := &c.steps[before], &c.steps[after]
	if x.rank > y.rank {
		x.right = c.join(x.right, after)
		c.sumUp(x)
		return before
	}
	y.left = c.join(before, y.left)
	c.sumUp(y)
	return after
}

func (c *permitCount) sumUp(x *permitStep) {
	l, r := &c.steps[x.left], &c.steps[x.right]
	here := l.sum + x.step
	x.sum, x.most = here+r.sum, max(l.most, here, here+r.most)
}

// most is the greatest number of permits given at any instant that is remembered.
func (c *permitCount) most() int {
	if c.root == 0 {
		return 0
	}
	return int(c.base + c.steps[c.root].most)
}

// at is how many there were at an instant; known is false of one that may be forgotten.
func (c *permitCount) at(t int64) (n int, known bool) {
	sum := c.base
	for i := c.root; i != 0; {
		x := &c.steps[i]
		if x.at > t {
			i = x.left
			continue
		}
		sum += c.steps[x.left].sum + x.step
		i = x.right
	}
	return int(sum), t >= c.since
}

// forget forgets what was before an instant, which nobody asks for any more.
func (c *permitCount) forget(before int64) {
	if c.root == 0 || before <= c.since {
		return
	}
	gone, rest := c.split(c.root, before, math.MinInt32)
	c.root, c.since, c.base = rest, before, c.base+c.steps[gone].sum
	c.free(gone)
}

func (c *permitCount) free(i int32) {
	if i == 0 {
		return
	}
	c.free(c.steps[i].left)
	c.free(c.steps[i].right)
	c.spare = append(c.spare, i)
}

// hasRoom reports whether a settled grant was certainly not one too many: when it
// was made there were no more permits given than so many, its own included.
func (c *permitCount) hasRoom(g *grant, permits int) bool {
	n, known := c.at(g.end)
	return known && n <= permits && !c.odd
}
