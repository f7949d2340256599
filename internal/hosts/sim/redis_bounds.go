package sim

import (
	"bufio"
	"bytes"
	"slices"
	"strconv"

	"github.com/alicebob/miniredis/v2/server"
)

// The bounds of a simulated Redis.
const (
	// mostStored is what it keeps (bytes), and longestValue one value that a
	// command makes longer than what it is sent.
	mostStored   = 32 << 20
	longestValue = 8 << 20
	// mostWritten is what it is sent to write, in all: it keeps the names of keys that are gone.
	mostWritten = 256 << 20
	// databases is how many Redis has unless it is told otherwise.
	databases = 16
	// entry is what a key or a member takes at most beside its bytes; a sketch is what PFADD makes.
	entry  = 128
	sketch = 16 << 10
	// work is how much of what is stored counts as one call, beyond slack: a
	// command may look at all of it.
	work = 4 << 10
)

// copying are commands that make a value of others, and multiple those that look at several.
var (
	copying = []string{"COPY", "BITOP", "PFMERGE", "SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE", "ZUNIONSTORE",
		"ZINTERSTORE", "GEORADIUS", "GEORADIUSBYMEMBER", "RESTORE"}
	multiple = []string{"SUNION", "SINTER", "SDIFF", "SINTERCARD", "ZUNION", "ZINTER", "PFCOUNT"}
)

// stored is how much a Redis keeps: at most is what can be, found is what there
// was when it was last counted. Written is what it was sent to write.
type stored struct{ atMost, found, written int64 }

// slack is how much may be written before it is counted again.
const slack = 1 << 20

// weigh counts a command and what it stores: a queued one when it is carried out.
func (r *redis) weigh(in *Instance, queued bool, name string, args []string) {
	in.works(1)
	s := &r.stored
	if queued && name == "EXEC" {
		r.owes(in, r.peer.owed)
		return
	}
	before := s.atMost
	if !r.redis.Server().IsReadOnlyCommand(name) {
		for _, a := range args {
			s.atMost += int64(len(a)) + entry
			s.written += int64(len(a))
		}
		if s.written > mostWritten {
			in.exceeds("is the last to write to "+r.node.host.Name, mostWritten, "bytes")
		}
	}
	r.sized(in, name, args)
	growth := int64(1)
	if slices.Contains(copying, name) {
		growth = 2
	}
	if queued {
		r.peer.owed += s.atMost*growth - before + r.peer.owed*(growth-1)
		s.atMost = before
	} else {
		if s.atMost*growth > s.found+s.found/4+slack {
			if s.found = r.counted(); s.found > mostStored {
				in.exceeds("has "+r.node.host.Name+" store", mostStored, "bytes")
			}
			s.atMost = s.found
		}
		s.atMost *= growth
	}
	times := int64(1)
	if growth > 1 || slices.Contains(multiple, name) {
		times += int64(len(args))
	}
	in.works(times * max(0, s.found-slack) / work)
}

// owes has what a transaction's commands store at most be stored, if there is room for it.
func (r *redis) owes(in *Instance, owed int64) {
	s := &r.stored
	if s.atMost+owed > mostStored {
		s.found = r.counted()
		s.atMost = s.found
	}
	if s.atMost += owed; s.atMost > mostStored {
		in.exceeds("has "+r.node.host.Name+" store", mostStored, "bytes")
	}
}

// sized looks at commands that say in a few bytes how long a value becomes, or which database they
// use.
func (r *redis) sized(in *Instance, name string, args []string) {
	switch n := len(args); {
	case name == "PFADD":
		r.stored.atMost += sketch
	case name == "SETRANGE" && n == 3:
		r.lengthens(in, name, number(args[1])+int64(len(args[2])))
	case name == "SETBIT" && n == 3:
		r.lengthens(in, name, number(args[1])/8)
	case name == "SELECT" && n == 1, name == "MOVE" && n == 2, name == "COPY" && n > 3:
		r.within(in, name, args[map[string]int{"SELECT": 0, "MOVE": 1, "COPY": 3}[name]])
	case name == "SWAPDB" && n == 2:
		r.within(in, name, args[0])
		r.within(in, name, args[1])
	}
}

// number reads a number; 0: it is none, and Redis says so.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// lengthens ends the run if a command makes a value too long.
func (r *redis) lengthens(in *Instance, name string, to int64) {
	if r.stored.atMost += max(to, 0); to > longestValue || to < 0 {
		in.exceeds("sends "+r.node.host.Name+" a "+name+" that makes a value of", longestValue, "bytes")
	}
}

// within ends the run if a database is none of those that Redis has.
func (r *redis) within(in *Instance, name, database string) {
	if number(database) >= databases {
		in.exceeds("uses with "+name, databases, "databases of "+r.node.host.Name)
	}
}

// counted is how much is stored.
func (r *redis) counted() (total int64) {
	for db := range databases {
		r.ask("SELECT", strconv.Itoa(db))
		keys, _ := r.ask("KEYS", "*").([]any)
		for _, k := range keys {
			key, _ := k.(string)
			size, _ := r.ask("MEMORY", "USAGE", key).(int)
			total += int64(size) + int64(len(key)) + entry
			if r.ask("TYPE", key) == server.Simple("hll") {
				total += sketch
			}
		}
	}
	return total
}

// ask has miniredis carry a command out, whatever it is doing, and returns its
// reply; nil: an error.
func (r *redis) ask(args ...string) any {
	var b bytes.Buffer
	p := server.NewPeer(bufio.NewWriter(&b))
	p.Ctx = r.asking
	r.asksPlainly(p, args)
	p.Flush()
	reply, _ := server.ParseReply(bufio.NewReader(&b))
	return reply
}
