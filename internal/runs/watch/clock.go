package watch

// clock follows how far a log has come, by the times of its lines. A clock of one client may
// be hours ahead, and its lines would make those of all others old: they would be judged, and
// forgotten, before what belongs to them has come. So a line that leaps ahead is believed
// only when a line of another client has come as far, with none of the old time in between.
type clock struct {
	// Newest is the time (ns since 1970) that the log has come to; 0: no line was believed yet.
	Newest int64
	// Ahead is the client whose lines lie ahead.
	Ahead ahead
}

// ahead is a client's lines that lie ahead of the log, with none of the old time among them.
type ahead struct {
	Client      string
	First, Last int64 // their earliest and latest time
	Lines       int
}

// soleClientLines is how many lines in a row one client must write to be believed though no other
// follows.
const soleClientLines = 64

// see takes a line. step is by how much a line may be newer than all before it
// and be believed at once.
func (c *clock) see(client string, at, step int64) {
	if c.Newest != 0 && at <= c.Newest+step {
		c.Newest, c.Ahead = max(c.Newest, at), ahead{}
		return
	}
	this := ahead{client, at, at, 1}
	if last := c.Ahead; last.Lines > 0 && last.Client == client {
		this = ahead{client, min(at, last.First), max(at, last.Last), last.Lines + 1}
		if this.Lines < soleClientLines {
			c.Ahead = this
			return
		}
		c.Newest, this = this.First, ahead{client, at, at, 1}
	} else if last.Lines > 0 {
		c.Newest = min(at, last.Last)
		if last.Last > at {
			this = last
		}
	}
	c.Ahead = this
	if c.Newest != 0 && this.Last <= c.Newest+step {
		c.Newest, c.Ahead = this.Last, ahead{}
	}
}
