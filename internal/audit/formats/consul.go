package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// Keys of Consul's KV store that were looked at now and then: `curl …/v1/kv/KEY` and
// `consul watch` print JSON, `consul kv get -detailed` lines of text. A key is a lock,
// and its session the holder. LockIndex rises by one with each grant, so samples tell
// whether holders are missing. They have no times: ModifyIndex puts them in order.

// consulBegins is how such a file begins.
var consulBegins = lazyregexp.New(`^(\[\s*)?\{(?s:[^{}]*)"(LockIndex"(?s:[^{}]*)"ModifyIndex|ModifyIndex"(?s:[^{}]*)"LockIndex)"|^CreateIndex +\d+\s+Flags +\d`)

// consulText is how the first line of a key in text begins.
const consulText = "CreateIndex"

// consulKey is a key.
type consulKey struct {
	Key         string `json:"Key"`
	Session     string `json:"Session"`
	LockIndex   int64  `json:"LockIndex"`
	ModifyIndex int64  `json:"ModifyIndex"`
}

// consul reads such samples.
type consul struct {
	sampleDocuments
	text *bufio.Reader // nil: they are in JSON
	line int           // that was read last
	next string        // the first line of the next key
}

// Consul is samples of Consul's keys.
const Consul Format = "consul"

func openConsul(f *File, from io.Reader) (recordReader, error) {
	f.What, f.Loss, f.Untimed = "samples of Consul's keys", "its lock is gone", true
	f.Options.Polled = true
	in := bufio.NewReaderSize(from, 1<<16)
	s := &consul{sampleDocuments: sampleDocuments{holderSamples: newHolderSamples()}}
	if head, _ := in.Peek(len(consulText)); string(head) == consulText {
		s.documents, s.text, s.one = &documents{file: f}, in, s.lines
		return s, nil
	}
	s.documents, s.one = newDocuments(f, in), s.response
	return s, nil
}

// response reads what Consul answers: a list of keys, or one.
func (s *consul) response(w *words.Worker) error {
	if err := s.read(); err != nil {
		return err
	}
	var keys []consulKey
	raw := bytes.TrimSpace(s.raw)
	if len(raw) > 0 && raw[0] == '{' {
		raw = append(append([]byte{'['}, raw...), ']')
	}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return wrongRecord(s.file.Name, s.documents.line, s.raw, err)
	}
	for i := range keys {
		if err := s.key(w, &keys[i], s.documents.line); err != nil {
			return wrongRecord(s.file.Name, s.documents.line, s.raw, err)
		}
	}
	return nil
}

// lines reads a key in lines of text. Its value is the last, and may have several lines.
func (s *consul) lines(w *words.Worker) error {
	var in consulKey
	first, value := 0, false
	for {
		text, err := s.textLine()
		name, rest, _ := strings.Cut(text, " ")
		rest = strings.TrimSpace(rest)
		if name == consulText && first > 0 {
			s.next = text
			s.line--
			break
		}
		if name == consulText {
			first = s.line
		}
		if !value && err == nil {
			value = name == "Value"
			if wrong := in.field(name, rest); wrong != nil {
				return wrongRecord(s.file.Name, s.line, []byte(text), wrong)
			}
		}
		if err != nil && (first == 0 || !errors.Is(err, io.EOF)) {
			return err
		}
		if err != nil {
			break
		}
	}
	if err := s.key(w, &in, first); err != nil {
		return wrongRecord(s.file.Name, first, []byte(in.Key), err)
	}
	return nil
}

// textLine reads a line. Of a long one, which is a value, it returns the beginning.
func (s *consul) textLine() (string, error) {
	s.line++
	if text := s.next; text != "" {
		s.next = ""
		return text, nil
	}
	line, err := s.text.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = s.text.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) && text != "" {
		err = nil
	}
	return text, err
}

// field reads a line of a key.
func (k *consulKey) field(name, text string) (err error) {
	switch name {
	case "Key":
		k.Key = text
	case "Session":
		k.Session = strings.TrimPrefix(text, "-")
	case "LockIndex":
		k.LockIndex, err = strconv.ParseInt(text, 10, 64)
	case "ModifyIndex":
		k.ModifyIndex, err = strconv.ParseInt(text, 10, 64)
	}
	return err
}

// key takes a sample.
func (s *consul) key(w *words.Worker, k *consulKey, line int) error {
	if k.Key == "" || k.ModifyIndex <= 0 || k.ModifyIndex > maxMicros || k.LockIndex < 0 ||
		k.LockIndex == math.MaxInt64 {
		return errors.New("a sample of a key needs its Key, ModifyIndex and LockIndex")
	}
	return s.add(w, holderSample{line: line, key: k.Key, holder: k.Session, seen: k.ModifyIndex * etcdPace,
		until: times.Never, changes: k.LockIndex, version: k.ModifyIndex})
}
