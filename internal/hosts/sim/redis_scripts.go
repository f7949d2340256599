package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/lockchaos/lockchaos/internal/hosts/sim/script"
)

// Scripts are not run by miniredis, whose Lua reads files, prints, and has no
// bounds. But a command in a script goes to miniredis as one of a script of its
// own would: with the context that miniredis makes for that. scriptCommand,
// called from a script of miniredis, shows it to [redis.before].
const (
	scriptCommand = "LOCKCHAOS.SCRIPT"
	showing       = `return redis.call("` + scriptCommand + `")`
	queued        = `return redis.pcall("` + scriptCommand + `", ARGV[1])`
)

// mostScripts is how many scripts a Redis keeps.
const mostScripts = 1000

// The answers of Redis to scripts that cannot be run, as miniredis has them.
const (
	noScript     = "NOSCRIPT No matching script. Please use EVAL."
	noInteger    = "ERR value is not an integer or out of range"
	negativeKeys = "ERR Number of keys can't be negative"
	tooManyKeys  = "ERR Number of keys can't be greater than number of args"
)

// isScripting reports whether a command is about scripts.
func isScripting(name string) bool {
	return slices.Contains([]string{"EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO", "SCRIPT"}, name)
}

// show returns the context of a script that miniredis would run for a connection.
func (r *redis) show(of any) any {
	p := server.NewPeer(bufio.NewWriter(io.Discard))
	p.Ctx = of
	r.asksPlainly(p, []string{"EVAL", showing, "0"})
	return r.script
}

// asksPlainly has miniredis carry a command out as it is.
func (r *redis) asksPlainly(p *server.Peer, args []string) {
	was := r.plain
	r.plain = true
	r.redis.Server().Dispatch(p, args)
	r.plain = was
}

// scripting carries a command about scripts out, or has it queued in a transaction. It leaves those
// to miniredis that are too short: it refuses them.
func (r *redis) scripting(c *server.Peer, name string, args []string) (done bool) {
	p := r.peer
	switch {
	case len(args) == 0, len(args) == 1 && name != "SCRIPT":
		return false
	case p.multi:
		r.queue(c, name, args)
		return true
	case p.nested == nil:
		p.nested = r.show(p.p.Ctx)
	}
	r.script = p.nested
	r.scripted(c, name, args)
	return true
}

// queue has a command of this package's queued in a transaction.
func (r *redis) queue(c *server.Peer, name string, args []string) {
	var text strings.Builder
	whole := append([]string{name}, args...)
	fmt.Fprintf(&text, "*%d\r\n", len(whole))
	for _, a := range whole {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(a), a)
	}
	r.asksPlainly(c, []string{"EVAL", queued, "0", text.String()})
}

// dequeued carries out what has been queued so.
func (r *redis) dequeued(c *server.Peer, text string) {
	var in commands
	if err := in.feed([]byte(text), func(args []string) {
		if isPublishing(args[0]) {
			r.publishing(c, args[0], args[1:])
			return
		}
		r.scripted(c, args[0], args[1:])
	}); err != nil {
		c.WriteError("ERR " + err.Error())
	}
}

func (r *redis) scripted(c *server.Peer, name string, args []string) {
	if name == "SCRIPT" {
		r.manage(c, args)
		return
	}
	s := r.scripts[args[0]]
	if !strings.HasPrefix(name, "EVALSHA") {
		s = r.compiled(c, args[0])
	} else if s == nil {
		c.WriteError(noScript)
	}
	if s == nil {
		return
	}
	args = args[1:]
	switch n, err := strconv.Atoi(args[0]); {
	case err != nil:
		c.WriteError(noInteger)
	case n < 0:
		c.WriteError(negativeKeys)
	case n > len(args)-1:
		c.WriteError(tooManyKeys)
	default:
		r.run(c, s, strings.HasSuffix(name, "_RO"), args[1:n+1], args[n+1:])
	}
}

// stepsOfCall is how many steps of a script count as one call.
const stepsOfCall = 20

func (r *redis) run(c *server.Peer, s *script.Script, reads bool, keys, argv []string) {
	in, w, ctx := r.peer.s.in, r.node.host.w, r.script
	steps, err := s.Run(script.Redis{
		Stop: func() error { return w.err },
		Call: func(args []string) (any, error) { return r.called(ctx, args) },
		Refuses: func(args []string) string {
			name, srv := strings.ToUpper(args[0]), r.redis.Server()
			switch {
			case isScripting(name), name == scriptCommand:
				return fmt.Sprintf("This Redis command is not allowed from script script: %s, &c", s.SHA)
			case reads && srv.IsRegisteredCommand(name) && !srv.IsReadOnlyCommand(name):
				return "Write commands are not allowed in read-only scripts"
			}
			return ""
		},
	}, c, keys, argv)
	in.works(steps / stepsOfCall)
	r.failed(err)
}

// called carries out a command of a script.
func (r *redis) called(ctx any, args []string) (reply any, err error) {
	if strings.EqualFold(args[0], "SELECT") {
		// the script has changed its context, and the next begins with that of the connection
		r.peer.nested = nil
	}
	var b replies
	p := server.NewPeer(bufio.NewWriterSize(&b, 512))
	p.Ctx = ctx
	r.redis.Server().Dispatch(p, args)
	p.Flush()
	if b.full {
		r.peer.s.in.exceeds("has a script read", mostUnread, "bytes")
	}
	return server.ParseReply(bufio.NewReaderSize(&b, 512))
}

// failed ends the run if a script has exceeded a bound.
func (r *redis) failed(err error) {
	if err != nil {
		r.node.host.w.Fail(fmt.Errorf("%s had %s run %w", r.peer.s.in.name, r.node.host.Name, err))
	}
}

// compiled finds a script, or compiles it; nil: it is wrong, and the client is told.
func (r *redis) compiled(c *server.Peer, text string) *script.Script {
	sha := script.SHA(text)
	if s := r.scripts[sha]; s != nil {
		return s
	}
	s, err := script.Compile(text)
	switch exceeded := (*script.Exceeded)(nil); {
	case errors.As(err, &exceeded):
		r.failed(err)
		return nil
	case err != nil:
		c.WriteError(script.Complaint(err))
		return nil
	}
	if r.scripts[sha] = s; len(r.scripts) > mostScripts {
		r.peer.s.in.exceeds("has "+r.node.host.Name+" keep", mostScripts, "scripts")
	}
	return s
}

// manage is the command SCRIPT.
func (r *redis) manage(c *server.Peer, args []string) {
	switch what, args := strings.ToLower(args[0]), args[1:]; {
	case what == "load" && len(args) == 1:
		if s := r.compiled(c, args[0]); s != nil {
			c.WriteBulk(s.SHA)
		}
	case what == "exists" && len(args) > 0:
		c.WriteLen(len(args))
		for _, sha := range args {
			n := 0
			if r.scripts[sha] != nil {
				n = 1
			}
			c.WriteInt(n)
		}
	case what == "flush":
		clear(r.scripts)
		c.WriteOK()
	default:
		c.WriteError(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try SCRIPT HELP.",
			strings.ToUpper(what)))
	}
}
