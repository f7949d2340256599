package backends

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lockchaos/lockchaos/internal/logins"
)

const s3Port = 7070

// builtS3 is the server that scripts/servers builds.
const builtS3 = built("versitygw")

// s3Program is the Versity S3 Gateway, which keeps objects as files, and takes
// conditional writes of a key one after the other.
var s3Program = &Program{
	Name: "versitygw", Image: "versity/versitygw:v1.8.0", Fix: builtS3.install(),
	found: func(ctx context.Context) (string, error) { return builtS3.says(ctx, "--version") },
	speech: speech{"GET / HTTP/1.0\r\n\r\n", func(answer []byte) error {
		// any server that speaks S3
		if bytes.Contains(bytes.ToLower(answer), []byte("x-amz-request-id")) {
			return nil
		}
		return errForeign
	}},
}

var objectStore = Kind{
	Name:  "s3",
	About: "an object store with conditional writes: the Versity S3 Gateway on a folder",
	Nodes: []NodeSpec{{Name: "s3-1", Program: s3Program, Port: s3Port}},
	Notes: []string{
		"Nothing in an object store expires: whoever waits for a lease has to see it unchanged for its whole TTL first.",
		"The gateway compares an object's ETag and writes it under a lock of the key, so a conditional write is atomic.",
	},
	Slack:   2 * time.Second,
	Doubles: true, // who comes later watches for a TTL of his own
	task:    s3Task,
	ready:   each((*Node).awaitS3),
	back:    (*Node).awaitS3,
}

func s3Task(_ Kind, n NodeSpec, p Place) (Task, error) {
	t := Task{Args: []string{"versitygw", "--access", logins.S3Key, "--secret", logins.S3Secret, "--port",
		p.Listen + ":" + strconv.Itoa(n.Port),
		"--keep-alive", "--quiet", "posix", p.Data}}
	if p.Contained {
		return t, nil
	}
	program, err := builtS3.find()
	t.Args[0] = program
	return t, err
}

// awaitS3 returns when the server has the bucket of the locks, and learns its version.
func (n *Node) awaitS3(ctx context.Context) error {
	objects, err := minio.New(n.Addr, &minio.Options{Creds: credentials.NewStaticV4(logins.S3Key, logins.S3Secret, ""),
		Region: "us-east-1", BucketLookup: minio.BucketLookupPath,
		MaxRetries: 1, Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		return err
	}
	return n.await(ctx, func(ctx context.Context) error {
		err := objects.MakeBucket(ctx, logins.S3Bucket, minio.MakeBucketOptions{})
		if code := minio.ToErrorResponse(err).Code; err != nil && code != minio.BucketAlreadyOwnedByYou &&
			code != minio.BucketAlreadyExists {
			return fmt.Errorf("make the bucket: %w", err)
		}
		return n.learnS3(ctx)
	})
}

// learnS3 learns the version from the program: the server does not tell.
func (n *Node) learnS3(ctx context.Context) error {
	n.Version = "(it does not tell its version)"
	if len(n.task.Args) == 0 || !filepath.IsAbs(n.task.Args[0]) {
		return nil
	}
	line, err := says(ctx, n.task.Args[0], "--version")
	_, version, _ := strings.Cut(line, ": ")
	n.Version = strings.TrimPrefix(version, "v")
	return err
}
