package etcd

// What clients may take of a member. The bounds of etcd itself, such as that of a request, are
// refused with etcd's errors.
const (
	// mostHeaders bounds a block of headers (bytes), and mostStreams the calls of a connection.
	mostHeaders = 64 << 10
	mostStreams = 10_000
	// mostWaiting bounds what waits for a window of a connection, and what has
	// come on it before the member answers.
	mostWaiting = 64 << 20
	// mostWritten bounds what clients have a member agree on, in all: the log keeps it.
	mostWritten = 256 << 20
)

// exceeds ends the run: the client takes more than its bound.
func (c *Conn) exceeds(what string, bound int64, unit string) {
	c.gone = true
	if c.Exceeds != nil {
		c.Exceeds(what, bound, unit)
	}
}

// waits counts what waits for a window; with a negative number it waits no more.
func (c *Conn) waits(n int) {
	if c.waiting += n; c.waiting > mostWaiting && n > 0 {
		c.exceeds("does not read what a member of etcd answers:", mostWaiting, "bytes")
	}
}
