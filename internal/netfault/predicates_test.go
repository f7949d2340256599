package netfault

import (
	"bytes"
	"math/rand/v2"
	"strconv"
)

// All is true of packets of which every one of the given predicates is.
func All(every ...Is) Is {
	return func(p *Packet) bool {
		for _, is := range every {
			if !is(p) {
				return false
			}
		}
		return true
	}
}

// Sent is true of packets that go this way.
func Sent(dir Direction) Is { return func(p *Packet) bool { return p.Dir == dir } }

// RedisCommand is true of packets in which a Redis command begins: an array of
// bulk strings (RESP) whose first words are the given ones, the command's own
// name in capitals or not. Further words, such as the key, must be equal.
func RedisCommand(name string, words ...string) Is {
	return func(p *Packet) bool {
		for rest := p.Payload; ; {
			i := bytes.IndexByte(rest, '*')
			if i < 0 {
				return false
			}
			rest = rest[i+1:]
			if beginsWith(rest, name, words) {
				return true
			}
		}
	}
}

// beginsWith looks for the words behind the length of an array: "3\r\n$3\r\nSET\r\n$1\r\nk\r\n…".
func beginsWith(rest []byte, name string, words []string) bool {
	count, rest, ok := bytes.Cut(rest, []byte("\r\n"))
	if n, err := strconv.Atoi(string(count)); !ok || err != nil || n < 1+len(words) {
		return false
	}
	for i, want := range append([]string{name}, words...) {
		length, after, ok := bytes.Cut(rest, []byte("\r\n"))
		if !ok || string(length) != "$"+strconv.Itoa(len(want)) || len(after) < len(want)+2 {
			return false
		}
		word := after[:len(want)]
		if string(word) != want && (i > 0 || !bytes.EqualFold(word, []byte(want))) {
			return false
		}
		rest = after[len(want)+2:]
	}
	return true
}

// DropFrom drops, of the packets that are aimed at, the k-th (from 1) and all that follow.
func DropFrom(k int, is Is) Decide {
	seen := 0
	return func(p *Packet) Fate {
		if !is(p) {
			return Fate{}
		}
		seen++
		return Fate{Drop: seen >= k}
	}
}

// String names the moment: "before the request", "after the request", "after the reply".
func (m Moment) String() string {
	switch m {
	case BeforeRequest:
		return "before the request"
	case AfterRequest:
		return "after the request"
	default:
		return "after the reply"
	}
}

// FromAll cuts a client from all nodes, in both directions.
func FromAll(client string, nodes []string) []Cut { return Between([]string{client}, nodes) }

// FromSome cuts a client from k random nodes, in both directions; from all if there are no more.
func FromSome(client string, nodes []string, k int, rng *rand.Rand) []Cut {
	return Between([]string{client}, shuffled(nodes, rng)[:max(0, min(k, len(nodes)))])
}
