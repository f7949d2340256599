package sim

import (
	"fmt"
	"slices"

	"github.com/alicebob/miniredis/v2/server"
)

// miniredis delivers what is published on goroutines of its own, in real time. So channels are kept
// here, and a message leaves for each subscriber within the command PUBLISH.

// mostChannels is to how many channels one connection subscribes.
const mostChannels = 1000

// isPublishing reports whether a command is about channels.
func isPublishing(name string) bool {
	return slices.Contains([]string{"SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH"}, name)
}

// whileSubscribed are the commands that a connection with subscriptions takes, in version 2 of the
// protocol.
var whileSubscribed = []string{"SUBSCRIBE", "UNSUBSCRIBE", "PING", "QUIT", "RESET"}

// channelled carries out what is about channels, and what a connection with subscriptions refuses
// or answers in another way. It reports whether the command is done.
func (r *redis) channelled(c *server.Peer, name string, args []string) (done bool) {
	p := r.peer
	subscribed := c == p.p && p.listens()
	switch {
	case isPublishing(name) && p.multi && c == p.p:
		if name != "PUBLISH" || len(args) != 2 {
			r.node.host.w.Fail(fmt.Errorf("%s sent %s with %d arguments after MULTI: the simulated Redis takes only PUBLISH CHANNEL MESSAGE there; use a real one (--runtime local)",
				p.s.in.name, name, len(args)))
			return true
		}
		r.queue(c, name, args)
	case isPublishing(name):
		r.publishing(c, name, args)
	case subscribed && !slices.Contains(whileSubscribed, name):
		c.WriteError(fmt.Sprintf("ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", name))
	case subscribed && name == "PING" && len(args) < 2:
		c.WriteLen(2)
		c.WriteBulk("pong")
		c.WriteBulk(append(args, "")[0])
	default:
		return false
	}
	return true
}

// publishing is one of the commands about channels.
func (r *redis) publishing(c *server.Peer, name string, args []string) {
	switch p := r.peer; {
	case name == "PUBLISH" && len(args) == 2:
		c.WriteInt(r.publish(args[0], args[1]))
	case name != "PUBLISH" && c != p.p:
		c.WriteError("ERR This Redis command is not allowed from script")
	case name == "SUBSCRIBE" && len(args) > 0:
		for _, channel := range args {
			if !p.subscribe(channel) {
				return
			}
			confirm(c, "subscribe", channel, len(p.channels))
		}
	case name == "UNSUBSCRIBE":
		if len(args) == 0 {
			args = slices.Clone(p.channels)
		}
		if len(args) == 0 {
			c.WritePushLen(3)
			c.WriteBulk("unsubscribe")
			c.WriteNull()
			c.WriteInt(0)
		}
		for _, channel := range args {
			p.unsubscribe(channel)
			confirm(c, "unsubscribe", channel, len(p.channels))
		}
	default:
		c.WriteError(fmt.Sprintf("ERR wrong number of arguments for '%s' command", name))
	}
}

func confirm(c *server.Peer, what, channel string, count int) {
	c.WritePushLen(3)
	c.WriteBulk(what)
	c.WriteBulk(channel)
	c.WriteInt(count)
}

// listens reports whether the connection takes only whileSubscribed.
func (p *redisPeer) listens() bool { return len(p.channels) > 0 && !p.p.Resp3 }

// subscribe adds a channel to those of the connection; false: the run has ended.
func (p *redisPeer) subscribe(channel string) bool {
	switch in := p.s.in; {
	case slices.Contains(p.channels, channel):
	case len(p.channels) == mostChannels:
		in.exceeds("subscribes to", mostChannels, "channels of "+p.redis.node.host.Name+" on one connection")
	default:
		p.channels = append(p.channels, channel)
		p.keep(len(channel))
	}
	return p.s.in.w.err == nil
}

func (p *redisPeer) unsubscribe(channel string) {
	if i := slices.Index(p.channels, channel); i >= 0 {
		p.channels = slices.Delete(p.channels, i, i+1)
		p.keep(-len(channel))
	}
}

// publish sends a message to all subscribers, and returns how many there are.
func (r *redis) publish(channel, text string) (n int) {
	for _, s := range r.node.sockets { // in the order in which they connected
		p, ok := s.peer.(*redisPeer)
		if !ok || !slices.Contains(p.channels, channel) {
			continue
		}
		n++
		r.peer.s.in.works(1)
		p.p.WritePushLen(3)
		p.p.WriteBulk("message")
		p.p.WriteBulk(channel)
		p.p.WriteBulk(text)
		if p != r.peer { // that gets it with its answers
			p.send()
		}
	}
	return n
}

// send answers what has been written.
func (p *redisPeer) send() {
	p.p.Flush()
	if p.out.Len() > 0 {
		p.s.answer(p.out.Bytes())
		p.out.Reset()
	}
}
