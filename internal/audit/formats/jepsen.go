package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"olympos.io/encoding/edn"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
)

// A history of Jepsen (https://github.com/jepsen-io/history) is a vector of
// ops, or one op after the other, each a map:
//
//	{:index 4, :time 1203, :type :ok, :process 3, :f :acquire, :value {:client "hz.client_2", :fence 7, :uid "…"}}
//
// :type is :invoke, :ok, :fail or :info; a process has one op open at a time, and
// is never seen again after an :info. The lock tests differ in what :value is.
// That of Hazelcast's CP locks names the client in its answers, which outlives
// its processes and owns the lock, and the fence. With jepsen.independent it is a
// pair of key and value. Those of etcd and of Hazelcast's old lock have none.

// Jepsen is a history of Jepsen.
const Jepsen Format = "jepsen"

// jepsenReader turns the maps of a history into ops.
type jepsenReader struct {
	file  *File
	in    *values
	words words.Vocabulary
	json  bool
	open  map[int64]int32 // the open op of each process
	// falses are acquires and releases that were answered ok, with the value
	// false; truths: others have the value true.
	falses []int32
	truths bool
	// owner is the client that a process is known to belong to.
	owner map[int64]string
	// by is the process of each op, named what its invocation had for a :value,
	// if that may name the lock.
	by       []int64
	named    []string
	last     int64 // the time of the op before
	index    int64
	untimed  bool
	any      bool
	nemesis  int
	skipped  []string // names of ops that are not about a lock
	nskipped int
}

// jepsenOp is one map of the history.
type jepsenOp struct {
	kind    history.Kind
	typ     string
	process int64
	time    int64
	key     string
	client  string
	token   history.Token
	bare    string // the value, if it is one word or number
	truth   *bool  // the value, if it is true or false
	hasInt  bool   // a number
	number  int64
	err     string
}

func readJepsen(to *File, in *bufio.Reader) error {
	to.What, to.OneClock, to.Released = "Jepsen history", true, true
	known, err := words.NewVocabulary(to.Options.Events, to.Options.Results)
	if err != nil {
		return err
	}
	head, _ := in.Peek(in.Size())
	asJSON := jepsenJSON().Match(head)
	r := &jepsenReader{file: to, words: known, json: asJSON, in: newValues(in, to.Name, !asJSON),
		open: map[int64]int32{}, owner: map[int64]string{}, index: -1}
	if jepsenText(bytes.TrimLeft(head, " \t\r\n\f")) {
		return r.lines(in)
	}
	for {
		f, err := r.in.next()
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err == nil {
			err = r.add(f)
		}
		if err != nil {
			return err
		}
	}
}

// decodeEDN decodes a value with the library, which panics where it meets what it does not expect.
func decodeEDN(text []byte) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("no EDN: %v", p)
		}
	}()
	err = edn.Unmarshal(text, &v)
	return v, err
}

// add reads one value.
func (r *jepsenReader) add(f value) error {
	if r.json {
		var m map[string]any
		if err := decodeJSON(r.in, f, &m); err != nil {
			return err
		}
		return r.op(f, ednOf(m).(ednMap))
	}
	v, err := decodeEDN(f.text)
	if err != nil {
		at := 0
		if syntax, ok := errors.AsType[*edn.SyntaxError](err); ok {
			at = int(syntax.Offset) - 1
		}
		return r.in.wrongAt(f, at, fmt.Errorf("no EDN: %w", err))
	}
	if tag, ok := v.(edn.Tag); ok { // #jepsen.history.Op{…}
		v = tag.Value
	}
	m, ok := v.(ednMap)
	if !ok {
		return r.in.wrong(f, "", errors.New("an op is a map, such as {:type :invoke, :f :acquire, :process 3}"))
	}
	return r.op(f, m)
}

// op reads one op.
func (r *jepsenReader) op(f value, m ednMap) error {
	typ := ednWord(m[edn.Keyword("type")])
	if !slices.Contains([]string{"invoke", "ok", "fail", "info"}, typ) {
		return r.in.wrong(f, ":type", fmt.Errorf("an op's :type is :invoke, :ok, :fail or :info, not %q", typ))
	}
	process, ok := m[edn.Keyword("process")].(int64)
	if !ok {
		if m[edn.Keyword("process")] == nil {
			return r.in.wrong(f, "", errors.New("an op needs its :process"))
		}
		r.nemesis++
		return nil
	}
	name := ednWord(m[edn.Keyword("f")])
	o := jepsenOp{typ: typ, process: process}
	var err error
	if o.kind, err = words.OpOf(name); name == "" {
		err = errors.New("an op needs its :f")
	}
	switch {
	case err != nil:
		return r.in.wrong(f, ":f", err)
	case o.kind == history.KindNone:
		return r.other(name)
	}
	if err := r.times(f, m, &o); err != nil {
		return err
	}
	if err := o.fields(m); err != nil {
		return r.in.wrong(f, ":value", err)
	}
	if typ == "invoke" {
		return r.invoke(f, &o)
	}
	return r.complete(f, &o)
}

// other notes an op that is not about a lock.
func (r *jepsenReader) other(name string) error {
	r.nskipped++
	if !slices.Contains(r.skipped, name) && len(r.skipped) < 5 {
		r.skipped = append(r.skipped, name)
	}
	return nil
}

// times reads :time and :index. The order of the file counts; time is made to agree with it.
func (r *jepsenReader) times(f value, m ednMap, o *jepsenOp) error {
	if index, ok := m[edn.Keyword("index")].(int64); ok {
		if index <= r.index {
			return r.in.wrong(f, ":index", fmt.Errorf("index %d after %d: the history is not in order", index, r.index))
		}
		r.index = index
	}
	t, has := ednInt(m[edn.Keyword("time")])
	switch {
	case r.any && has == r.untimed:
		return r.in.wrong(f, "", errors.New("some ops have a :time and some have none"))
	case !has && m[edn.Keyword("time")] != nil:
		return r.in.wrong(f, ":time", errors.New(":time is a number of nanoseconds"))
	case has && (t < 0 || t > math.MaxInt64/4):
		return r.in.wrong(f, ":time", fmt.Errorf(":time %d is no time since the beginning of a test (ns)", t))
	case !has:
		t = r.last + 1000
	}
	r.any, r.untimed = true, !has
	r.last = max(t, r.last+1)
	o.time = r.last
	return nil
}

func (r *jepsenReader) invoke(f value, o *jepsenOp) error {
	if prev, ok := r.open[o.process]; ok {
		return r.in.wrong(f, ":process", fmt.Errorf("process %d invokes an op while that of line %d is open", o.process,
			r.file.Calls.At(prev).Line))
	}
	if o.client != "" {
		r.owner[o.process] = o.client
	}
	i, err := r.file.Calls.Add(Call{Kind: o.kind, Inv: o.time, Ret: times.Never, Key: r.file.Keys.ID(o.key),
		Token: o.token, Line: int32(f.line), EndLine: int32(f.line)})
	if err != nil {
		return err
	}
	r.open[o.process] = i
	r.by = append(r.by, o.process)
	if o.kind != history.Acquire && o.kind != history.Release {
		o.bare = "" // what is read or written
	}
	r.named = append(r.named, o.bare)
	return nil
}

func (r *jepsenReader) complete(f value, o *jepsenOp) error {
	i, ok := r.open[o.process]
	if !ok {
		if o.typ == "info" {
			return nil // a remark
		}
		return r.in.wrong(f, ":process", fmt.Errorf("process %d completes an op that it did not invoke", o.process))
	}
	delete(r.open, o.process)
	if o.client != "" {
		r.owner[o.process] = o.client
	}
	done := r.file.Calls.At(i)
	if o.kind != done.Kind {
		return r.in.wrong(f, ":f", fmt.Errorf("process %d completes a %s with a %s", o.process, done.Kind, o.kind))
	}
	done.Ret, done.EndLine = o.time, int32(f.line)
	done.ended(words.EndingOf(o.typ), words.DeniesHold(o.err))
	r.boolean(i, o)
	if done.Outcome == history.OK && done.Token == 0 && o.kind == history.Acquire {
		done.Token = o.token
		if o.hasInt && o.token == 0 && r.named[i] == "" {
			done.Token = words.Positive(o.number)
		}
	}
	return nil
}

// boolean notes an answer of true or false.
func (r *jepsenReader) boolean(i int32, o *jepsenOp) {
	switch {
	case o.truth == nil || o.typ != "ok" || o.kind != history.Acquire && o.kind != history.Release:
	case *o.truth:
		r.truths = true
	default:
		r.falses = append(r.falses, i)
	}
}
