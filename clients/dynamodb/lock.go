// Package dynamodb has locks on a table that is written by condition, as the
// lock clients for DynamoDB in Java and Go are.
package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	dynamo "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/internal/lease"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Lease is the lock dynamodb-lease.
var Lease = kind("dynamodb-lease", "an item with an owner, a record version and a fencing number, which whoever has seen it unchanged for the TTL may take over by a conditional write", "", false)

// BrokenRetry is the control broken-dynamodb-retry: dynamodb-lease whose
// conditional write is sent again when it was not answered, as SDKs do by
// themselves, and which takes it for a success when the condition fails then:
// the first must have gone through. It may as well have been another client.
var BrokenRetry = kind("broken-dynamodb-retry",
	"dynamodb-lease that sends a conditional write again which was not answered, and takes a condition that has failed for its own success", checker.MutualExclusion, true)

func kind(called, about, control string, hopeful bool) clients.Kind {
	k := clients.Kind{Name: called, About: about, Service: "dynamodb", Control: control}
	return lease.WatchedKind(k, open, func(t *table, c clients.Config) lease.Medium {
		if hopeful {
			return lease.Watched(again{t}, c)
		}
		return lease.Watched(t, c)
	})
}

// table has records, an item each.
type table struct {
	db        *dynamo.Client
	transport *http.Transport
	addr      string
}

func open(c clients.Config) (*table, error) {
	if len(c.Nodes) != 1 {
		return nil, fmt.Errorf("a lock in a table of DynamoDB was given %d addresses; configure exactly one",
			len(c.Nodes))
	}
	t := &table{addr: c.Nodes[0], transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	// A request is made once: what becomes of one that was not answered, the lock decides.
	t.db = dynamo.New(dynamo.Options{BaseEndpoint: aws.String("http://" + t.addr), Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("lockchaos", "lockchaos", ""),
		Retryer:     aws.NopRetryer{}, HTTPClient: &http.Client{Transport: t.transport}})
	return t, nil
}

func (t *table) String() string { return "DynamoDB's API at " + t.addr }

// Close closes the connections.
func (t *table) Close() error {
	t.transport.CloseIdleConnections()
	return nil
}

// The attributes of an item. version is the record version number of the lock
// clients: another one with every write.
const (
	keyAttribute     = "k"
	versionAttribute = "version"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Read reads an item, consistently.
func (t *table) Read(ctx context.Context, key string) (r lease.Record, version string, err error) {
	out, err := t.db.GetItem(ctx, &dynamo.GetItemInput{TableName: aws.String(logins.DynamoDBTable), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{keyAttribute: text(key)}})
	if err != nil || len(out.Item) == 0 {
		return r, "", err
	}
	owner, _ := out.Item["owner"].(*types.AttributeValueMemberS)
	numbers := map[string]int64{}
	for _, name := range []string{"fence", "ttl_ns", versionAttribute} {
		n, ok := out.Item[name].(*types.AttributeValueMemberN)
		if !ok || owner == nil {
			return r, "", fmt.Errorf("the item %q is none of this lock's: its attribute %q is missing", key, name)
		}
		if numbers[name], err = strconv.ParseInt(n.Value, 10, 64); err != nil {
			return r, "", fmt.Errorf("the item %q is none of this lock's: its attribute %q: %w", key, name, err)
		}
	}
	return lease.Record{Owner: owner.Value, Fence: numbers["fence"], TTL: time.Duration(numbers["ttl_ns"])},
		strconv.FormatInt(numbers[versionAttribute], 10), nil
}

// Write puts an item on condition of the version that is there, or that there is none.
func (t *table) Write(ctx context.Context, key string, r lease.Record, version string) error {
	put := &dynamo.PutItemInput{TableName: aws.String(logins.DynamoDBTable),
		ConditionExpression: aws.String("attribute_not_exists(" + keyAttribute + ")")}
	var at int64
	if version != "" {
		var err error
		if at, err = strconv.ParseInt(version, 10, 64); err != nil {
			return err
		}
		put.ConditionExpression = aws.String(versionAttribute + " = :at")
		put.ExpressionAttributeValues = map[string]types.AttributeValue{":at": number(at)}
	}
	put.Item = map[string]types.AttributeValue{keyAttribute: text(key), versionAttribute: number(at + 1),
		"owner": text(r.Owner), "fence": number(r.Fence), "ttl_ns": number(int64(r.TTL))}
	_, err := t.db.PutItem(ctx, put)
	return outcome(err)
}

// outcome is what is known after a write: that the condition did not hold, that
// nothing was sent or taken, or nothing.
func outcome(err error) error {
	var unmet *types.ConditionalCheckFailedException
	var answered smithy.APIError
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unmet):
		return clients.ErrNotHeld
	case errors.As(err, &answered) && answered.ErrorFault() == smithy.FaultClient, errors.As(err, &op) &&
		op.Op == "dial":
		return err
	}
	return fmt.Errorf("%w: %w", clients.ErrOpen, err)
}

// again sends a write again that was not answered, and takes a condition that
// has failed for its own success.
type again struct{ *table }

// patience is how long it waits for an answer.
const patience = 100 * time.Millisecond

// Write writes, in the hope that only it does.
func (a again) Write(ctx context.Context, key string, r lease.Record, version string) error {
	for tries := 0; ; tries++ {
		brief, cancel := context.WithTimeout(ctx, patience)
		err := a.table.Write(brief, key, r, version)
		cancel()
		switch {
		case tries > 0 && errors.Is(err, clients.ErrNotHeld):
			return nil
		case err == nil || errors.Is(err, clients.ErrNotHeld) || ctx.Err() != nil:
			return err
		}
	}
}
