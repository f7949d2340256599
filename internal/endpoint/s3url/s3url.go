// Package s3url makes the client of an object store of an address: host:port, or
// https://KEY:SECRET@host:port/BUCKET?region=REGION.
package s3url

import (
	"cmp"
	"net"
	"net/http"
	"os"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Account is whom an address is for that is host:port alone, and his bucket.
type Account struct{ Key, Secret, Bucket string }

// Store is a client that makes each request once, and its bucket.
type Store struct {
	*minio.Core
	Bucket string
	// At is the address, to show; Own says that its bucket is there already.
	At  string
	Own bool

	transport *http.Transport
}

// Open makes a client. A URL without a key takes the keys of the environment, as AWS' tools do
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN). dial connects; nil: as usual.
func Open(address string, usual Account, dial endpoint.Dial) (*Store, error) {
	at, err := endpoint.Parse(address)
	if err != nil {
		return nil, err
	}
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	secure, err := at.Dialer(dial)
	if err != nil {
		return nil, err
	}
	s := &Store{Bucket: cmp.Or(at.Database(), usual.Bucket), At: at.String(), Own: at.Scheme() != "",
		transport: &http.Transport{MaxIdleConnsPerHost: 4, DialContext: dial, DialTLSContext: secure}}
	key, secret := at.Account()
	keys := credentials.NewStaticV4(cmp.Or(key, usual.Key), cmp.Or(secret, usual.Secret), "")
	if s.Own && key == "" {
		keys = credentials.NewEnvAWS()
	}
	s.Core, err = minio.NewCore(at.HostPort(), &minio.Options{Creds: keys, Secure: at.Sealed(),
		Region:       cmp.Or(at.Param("region"), os.Getenv("AWS_REGION"), "us-east-1"),
		BucketLookup: minio.BucketLookupPath, MaxRetries: 1, Transport: s.transport})
	return s, err
}

// Close closes the connections that no request uses.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}
