package formats

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/lockchaos/lockchaos/internal/audit/remarks"
	"github.com/lockchaos/lockchaos/internal/audit/times"
	"github.com/lockchaos/lockchaos/internal/audit/words"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
)

// A watch of etcd (`etcdctl watch -w json --prefix locks/`): a key is a lock, and its value
// the holder, or else its lease. Every event has the revision of etcd and the version of its
// key, which rises by one with each put, so a watch shows what it lacks. It has no times.

// etcdBegins is how such a file begins.
var etcdBegins = lazyregexp.New(`^\{\s*"(Header|Events)"\s*:(?s:.*)"(cluster_id|mod_revision|kv)"`)

// etcdPace is how far apart the instants of two revisions are: something lies between.
const etcdPace = 10

const (
	etcdPut    = "0"
	etcdDelete = "1"
)

// etcd reads watches of etcd.
type etcd struct{ sampleDocuments }

type etcdResponse struct {
	Events []struct {
		Type any `json:"type"`
		KV   struct {
			Key     []byte `json:"key"`
			Value   []byte `json:"value"`
			Changed int64  `json:"mod_revision"`
			Version int64  `json:"version"`
			Lease   int64  `json:"lease"`
		} `json:"kv"`
	}
}

// Etcd is a watch of etcd.
const Etcd Format = "etcd"

func openEtcd(f *File, in io.Reader) (recordReader, error) {
	f.What, f.Loss, f.Untimed = "watch of etcd", "its record is overwritten", true
	s := &etcd{sampleDocuments{documents: newDocuments(f, in), holderSamples: newHolderSamples()}}
	s.one = s.response
	return s, nil
}

// response reads what etcd has sent at a time.
func (s *etcd) response(w *words.Worker) error {
	var in etcdResponse
	if err := s.next(&in); err != nil {
		return err
	}
	for i := range in.Events {
		e := &in.Events[i]
		typ := map[string]string{"PUT": etcdPut, "DELETE": etcdDelete, "<nil>": etcdPut}[fmt.Sprint(e.Type)]
		if typ == "" {
			typ = fmt.Sprint(e.Type)
		}
		var err error
		switch {
		case typ != etcdPut && typ != etcdDelete:
			err = fmt.Errorf("an event of the type %s: 0 is a put, 1 a delete", remarks.Excerpt(typ))
		case len(e.KV.Key) == 0 || e.KV.Changed <= 0 || e.KV.Changed > maxMicros:
			err = errors.New("an event needs its key and mod_revision")
		default:
			at := e.KV.Changed * etcdPace
			now := holderSample{line: s.line, key: string(e.KV.Key), seen: at, until: times.Never, changes: -1,
				version: e.KV.Changed, counted: true}
			if typ == etcdPut {
				now.holder, now.count = etcdHolder(e.KV.Value, e.KV.Lease), e.KV.Version
			}
			err = s.add(w, now)
		}
		if err != nil {
			return wrongRecord(s.file.Name, s.line, s.raw, err)
		}
	}
	return nil
}

// etcdHolder is who a record names: by its value, or by its lease in the form
// in which etcdctl prints it.
func etcdHolder(value []byte, lease int64) string {
	if len(value) > 0 {
		return string(value)
	}
	return "lease " + strconv.FormatInt(lease, 16)
}
