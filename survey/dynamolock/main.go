// The lock of cirello.io/dynamolock/v2 on DynamoDB's local edition, as an adapter for lockchaos.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"example.com/golocks/protocol"
)

const table = "locks"

type lock struct {
	client *dynamolock.Client
	ttl    time.Duration

	mu   sync.Mutex
	held map[string]*dynamolock.Lock
}

// open keeps the proportions of the library's defaults: a lease of 20 s, a heartbeat every 5 s.
func open(h protocol.Hello) (protocol.Lock, error) {
	db := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://" + h.Nodes[0]),
		Region:       "local",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	c, err := dynamolock.New(db, table, dynamolock.WithLeaseDuration(h.TTL), dynamolock.WithHeartbeatPeriod(h.TTL/4),
		dynamolock.WithOwnerName(h.Client))
	if err != nil {
		return nil, err
	}
	_, err = c.CreateTable(table, dynamolock.WithProvisionedThroughput(&types.ProvisionedThroughput{
		ReadCapacityUnits: aws.Int64(1000), WriteCapacityUnits: aws.Int64(1000),
	}))
	if errors.As(err, new(*types.ResourceInUseException)) { // another client has made it
		err = nil
	}
	return &lock{client: c, ttl: h.TTL, held: map[string]*dynamolock.Lock{}}, err
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "dynamolock " + protocol.Version("cirello.io/dynamolock/v2"),
		Validity: "session",           // a heartbeat in the background
		Confirms: []string{"release"}, // it compares the record version number in its condition
		Can:      []string{"cancel"},
		// IsExpired counts the lease from before the request that renewed it,
		// and is looked at every 20 ms.
		LostGraceMS: (l.ttl + 300*time.Millisecond).Milliseconds(),
		Notices:     "alone",
	}
}

func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	g := protocol.Grant{First: protocol.Now()}
	deadline, _ := ctx.Deadline()
	held, err := l.client.AcquireLockWithContext(ctx, key, dynamolock.WithRefreshPeriod(50*time.Millisecond),
		dynamolock.WithAdditionalTimeToWaitForLock(time.Until(deadline)), dynamolock.WithDeleteLockOnRelease())
	if errors.As(err, new(*dynamolock.TimeoutError)) { // each answer said that another has it
		return protocol.Grant{}, protocol.Busy
	}
	if err != nil {
		return g, err
	}
	l.mu.Lock()
	l.held[key] = held
	l.mu.Unlock()
	go l.watch(key, held)
	return g, nil
}

// watch asks the library whether it has lost the lock.
func (l *lock) watch(key string, held *dynamolock.Lock) {
	time.Sleep(20 * time.Millisecond) // never before the grant itself is told
	for !held.IsExpired() {
		time.Sleep(20 * time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[key] == held {
		delete(l.held, key)
		protocol.Lost(key, "the lease has expired")
	}
}

func (l *lock) Release(ctx context.Context, key string) error {
	l.mu.Lock()
	held := l.held[key]
	delete(l.held, key)
	l.mu.Unlock()
	if held == nil {
		return protocol.NotHeld
	}
	released, err := l.client.ReleaseLockWithContext(ctx, held)
	if err == nil && !released {
		return protocol.NotHeld
	}
	return err
}

func (l *lock) Close(ctx context.Context) error { return l.client.CloseWithContext(ctx) }

func main() { protocol.Main(open) }
