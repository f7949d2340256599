package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lockchaos/lockchaos/internal/logins"
)

// s3Keeper is the engine on an object store that knows one way to decide: a PUT on condition of the
// ETag that the object still has (If-Match), or that there is none (If-None-Match). No two objects
// change together, so one object, the head, holds all that decides: epoch, number, the state of
// every key, and the last entries. A request reads nothing and is one PUT of the next head, on
// condition of the one before.
//
// What was sent before a claim bears the ETag of an older head, and the claim has changed the head.
// So it fails, however late it arrives. An ETag may be a sum of the content; it never comes back,
// since every head has a higher epoch or number than the one before.
//
// When the head holds s3Piece entries, they are first written to an object of their own, which then
// never changes. Only what is in the head is written there, so a piece says the same no matter
// who writes it and when it arrives, and its PUT needs no condition.
type s3Keeper struct {
	addr, name, server string
	fencing            Fencing
	store              *minio.Core
	transport          *http.Transport

	head s3Head // as last seen; read anew with every epoch
	etag string
}

type s3Head struct {
	Epoch     int64               `json:"epoch"`
	Seq       int64               `json:"seq"`
	At        int64               `json:"at"`
	Registers map[string]register `json:"registers"`
	// Tail are the entries after the last piece.
	Tail []Entry `json:"tail"`
}

// filed is how many entries are in pieces.
func (h *s3Head) filed() int64 { return h.Seq - int64(len(h.Tail)) }

// s3Piece is how many entries a piece of the ledger has. With more of them each PUT would carry
// more, with fewer there would be more PUTs.
const s3Piece = 32

func openS3(ctx context.Context, s Spec) (Engine, error) {
	k := &s3Keeper{addr: s.Addrs[0], name: s.Name, fencing: s.Fencing, transport: &http.Transport{}}
	var err error
	k.store, err = minio.NewCore(k.addr, &minio.Options{Creds: credentials.NewStaticV4(logins.S3Key, logins.S3Secret, ""),
		Region: "us-east-1", BucketLookup: minio.BucketLookupPath,
		// none: one that is hidden could write twice. net/http sends no PUT
		// again of which a byte was sent
		MaxRetries: 1,
		Transport:  k.transport})
	if err != nil {
		return nil, fmt.Errorf("s3 at %s: %w: %w", k.addr, err, ErrBadRequest)
	}
	// it may be there; if it can't be made, the claim says so
	_ = k.store.MakeBucket(ctx, logins.S3Bucket, minio.MakeBucketOptions{})
	r, err := newRemote(ctx, k, s.Fencing)
	if err == nil {
		err = k.meet(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open the ledger in s3: %w", err)
	}
	return r, nil
}

// meet learns the server's name, and refuses one that writes where the condition does not hold. It
// tries that with what is there.
func (k *s3Keeper) meet(ctx context.Context) error {
	_, err := k.put(ctx, k.headName(), k.head, absent())
	answer := minio.ToErrorResponse(err)
	if answer.StatusCode != http.StatusPreconditionFailed {
		return k.failed(fmt.Errorf("a PUT with If-None-Match of an object that is there was not refused (412), as a server with conditional writes does: %w", err))
	}
	k.server = answer.Server
	return nil
}

// absent is the condition that there is no such object.
func absent() (o minio.PutObjectOptions) {
	o.SetMatchETagExcept("*")
	return o
}

func (k *s3Keeper) headName() string { return k.name + "/head" }

// pieceName is where the entries after this number are.
func (k *s3Keeper) pieceName(after int64) string {
	return fmt.Sprintf("%s/ledger/%019d", k.name, after)
}

// Version names the engine and what its server says of itself: S3 knows no question for a version.
func (k *s3Keeper) Version() string { return "s3 " + k.server }

func (k *s3Keeper) failed(err error) error { return fmt.Errorf("s3 at %s: %w", k.addr, err) }

// claim changes the head, whose ETag every request of an earlier epoch names.
func (k *s3Keeper) claim(ctx context.Context) (last int64, err error) {
	for {
		head := s3Head{Registers: map[string]register{}}
		etag, err := k.get(ctx, k.headName(), &head)
		if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchKey {
			return 0, k.failed(err)
		}
		head.Epoch++
		k.head, k.etag = head, etag
		if err = k.replace(ctx); err == nil {
			return head.Seq, nil
		}
		// something came between, such as a request that had no answer
		if !errors.Is(err, errEpoch) {
			return 0, err
		}
	}
}

// get reads an object. It returns its ETag, "" with an error.
func (k *s3Keeper) get(ctx context.Context, name string, into any) (etag string, err error) {
	body, info, _, err := k.store.GetObject(ctx, logins.S3Bucket, name, minio.GetObjectOptions{})
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return "", fmt.Errorf("object %s: %w", name, err)
	}
	return info.ETag, nil
}

func (k *s3Keeper) put(ctx context.Context, name string, what any, condition minio.PutObjectOptions) (etag string,
	err error) {
	text, _ := json.Marshal(what) // structs of numbers and valid text
	info, err := k.store.PutObject(ctx, logins.S3Bucket, name, bytes.NewReader(text), int64(len(text)), "", "", condition)
	return info.ETag, err
}

// replace puts the head that the keeper now has in place of the one whose ETag it has. The error is
// errEpoch if it was another.
func (k *s3Keeper) replace(ctx context.Context) error {
	condition := absent()
	if k.etag != "" {
		condition = minio.PutObjectOptions{}
		condition.SetMatchETag(k.etag)
	}
	etag, err := k.put(ctx, k.headName(), k.head, condition)
	switch answer := minio.ToErrorResponse(err); {
	case err == nil:
		k.etag = etag
		return nil
	case answer.StatusCode == http.StatusPreconditionFailed, answer.StatusCode == http.StatusConflict,
		answer.Code == minio.NoSuchKey:
		err = errEpoch
	}
	return k.failed(err)
}

// carryOut changes the head in memory first. If the PUT then fails, a claim reads the true one
// before anything else is done.
func (k *s3Keeper) carryOut(ctx context.Context, e *Entry) error {
	r, decided := k.head.Registers[e.Key], *e
	if err := r.decide(&decided, k.fencing); err != nil {
		return err
	}
	if len(k.head.Tail) == s3Piece {
		if _, err := k.put(ctx, k.pieceName(k.head.filed()), k.head.Tail, minio.PutObjectOptions{}); err != nil {
			return k.failed(err)
		}
		k.head.Tail = nil
	}
	k.head.Seq++
	k.head.At = max(k.head.At, e.At)
	decided.Seq, decided.At = k.head.Seq, k.head.At
	k.head.Registers[e.Key] = r
	k.head.Tail = append(k.head.Tail, decided)
	if err := k.replace(ctx); err != nil {
		return err
	}
	*e = decided
	return nil
}

// entries asks the server for the head too, and not the memory: what it has lost must not be given
// out.
func (k *s3Keeper) entries(ctx context.Context, after int64, limit int) (entries []Entry, err error) {
	var head s3Head
	if _, err := k.get(ctx, k.headName(), &head); err != nil {
		return nil, k.failed(err)
	}
	for first := after - after%s3Piece; first < min(head.filed(), after+int64(limit)); first += s3Piece {
		var piece []Entry
		if _, err := k.get(ctx, k.pieceName(first), &piece); err != nil {
			return nil, k.failed(err)
		}
		entries = append(entries, piece...)
	}
	entries = append(entries, head.Tail...)
	for len(entries) > 0 && entries[0].Seq <= after {
		entries = entries[1:]
	}
	return entries[:min(limit, len(entries))], nil
}

// Close gives the connections up.
func (k *s3Keeper) Close() error {
	k.transport.CloseIdleConnections()
	return nil
}
