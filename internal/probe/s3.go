package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"github.com/lockchaos/lockchaos/internal/endpoint/s3url"
)

var s3Service = Service{
	Name:    "s3",
	Program: "versitygw",
	Forms:   "https://KEY:SECRET@HOST:PORT/BUCKET?region=REGION",
	schemes: []string{"http", "https"},
	open:    openS3,
	denied:  func(err error) string { return s3Says(err, minio.AccessDenied) },
	login: func(err error) bool {
		return s3Says(err, "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken") != ""
	},
}

// s3Says returns the store's answer if its code is one of these.
func s3Says(err error, codes ...string) string {
	if answer := minio.ToErrorResponse(err); err != nil && slices.Contains(codes, answer.Code) {
		return answer.Code + ": " + answer.Message
	}
	return ""
}

type s3Server struct{ *s3url.Store }

// s3Locks is the account of an address that is host:port alone.
var s3Locks = s3url.Account{Key: "lockchaos", Secret: "lockchaos-secret", Bucket: "lockchaos"}

func openS3(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial) (server, error) {
	store, err := s3url.Open(at.Address(), s3Locks, dial)
	if err != nil {
		return nil, err
	}
	s := &s3Server{store}
	there, err := s.BucketExists(ctx, s.Bucket)
	switch {
	case err != nil && s3Says(err, minio.AccessDenied) == "": // who may not list may still write
		s.close()
		return nil, err
	case err == nil && !there && s.Own:
		s.close()
		return nil, fmt.Errorf("it has no bucket %q: make it, or name another as the URL's path", s.Bucket)
	}
	return s, nil
}

func (s *s3Server) prepare(ctx context.Context, _ string) error {
	if s.Own {
		return nil
	}
	err := s.MakeBucket(ctx, s.Bucket, minio.MakeBucketOptions{})
	if s3Says(err, minio.BucketAlreadyOwnedByYou, minio.BucketAlreadyExists) != "" {
		return nil
	}
	return err
}

// create writes an object where there is none. Nothing in an object store expires.
func (s *s3Server) create(ctx context.Context, key, value string, _ time.Duration) (bool, error) {
	var options minio.PutObjectOptions
	options.SetMatchETagExcept("*")
	return s.put(ctx, key, value, options)
}

// swap writes over the object that has the old value, on condition of its ETag.
func (s *s3Server) swap(ctx context.Context, key, old, fresh string) (bool, error) {
	value, etag, err := s.read(ctx, key)
	if err != nil || value != old {
		return false, err
	}
	var options minio.PutObjectOptions
	options.SetMatchETag(etag)
	return s.put(ctx, key, fresh, options)
}

func (s *s3Server) put(ctx context.Context, key, value string, o minio.PutObjectOptions) (bool, error) {
	_, err := s.PutObject(ctx, s.Bucket, key, strings.NewReader(value), int64(len(value)), "", "", o)
	answer, answered := errors.AsType[minio.ErrorResponse](err)
	if answered && (answer.StatusCode == http.StatusPreconditionFailed || answer.StatusCode == http.StatusConflict) {
		return false, nil
	}
	return err == nil, err
}

func (s *s3Server) read(ctx context.Context, key string) (value, etag string, err error) {
	body, info, _, err := s.GetObject(ctx, s.Bucket, key, minio.GetObjectOptions{})
	if s3Says(err, minio.NoSuchKey) != "" {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 1<<10))
	return string(text), info.ETag, err
}

func (s *s3Server) get(ctx context.Context, key string) (string, error) {
	value, _, err := s.read(ctx, key)
	return value, err
}

func (s *s3Server) clear(ctx context.Context, _ string, keys []string) error {
	for _, key := range keys {
		if err := s.RemoveObject(ctx, s.Bucket, key, minio.RemoveObjectOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *s3Server) close() { _ = s.Close() }

// facts asks for what changes objects without their owner. It writes nothing.
func (s *s3Server) facts(ctx context.Context) ([]Fact, error) {
	began := time.Now()
	if _, err := s.BucketExists(ctx, s.Bucket); err != nil {
		return nil, err
	}
	trip := time.Since(began)
	kept := Fact{Name: "eviction", Text: "no lifecycle rule"}
	rules, err := s.GetBucketLifecycle(ctx, s.Bucket)
	switch {
	case err == nil && len(rules.Rules) > 0:
		kept.Text = fmt.Sprintf("%d lifecycle rules", len(rules.Rules))
		kept.Warning = "EVICTION: a lifecycle rule may delete a lock that is held: let none apply to the names of locks"
	case err != nil && s3Says(err, "NoSuchLifecycleConfiguration") == "":
		kept.Text = "lifecycle rules are not told: " + minio.ToErrorResponse(err).Message
	}
	return []Fact{{Name: "bucket", Text: s.Bucket}, {Name: "round trip", Text: trip.Round(time.Microsecond).String()}, kept,
		{Name: "expiry", Text: "objects do not expire: a lock waits until it has seen one unchanged for its TTL"}}, nil
}
