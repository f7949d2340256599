package backends

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	dynamo "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lockchaos/lockchaos/internal/logins"
)

const dynamodbPort = 4567

// builtDynamoDB is the server that scripts/servers installs.
const builtDynamoDB = built("dynalite")

// dynamodbProgram is dynalite: DynamoDB itself runs at Amazon alone.
var dynamodbProgram = &Program{
	Name: "dynalite", Image: "lockchaos-local/dynalite", Fix: builtDynamoDB.install(),
	found: func(context.Context) (string, error) {
		path, err := builtDynamoDB.find()
		return "a stand-in for DynamoDB, " + path, err
	},
	speech: speech{"GET / HTTP/1.0\r\n\r\n", func(answer []byte) error {
		if bytes.Contains(answer, []byte("dynamodb")) {
			return nil
		}
		return errForeign
	}},
}

var dynamodb = Kind{
	Name:  "dynamodb",
	About: "a table that is written by condition: dynalite, which speaks DynamoDB's API, on Node",
	Nodes: []NodeSpec{{Name: "dynamodb-1", Program: dynamodbProgram, Port: dynamodbPort}},
	Notes: []string{
		"DynamoDB runs at Amazon alone; dynalite is one process, so what a cluster does when it loses a node is not seen here.",
		"Nothing in a table expires in time for a lock: whoever waits for a lease has to see it unchanged for its whole TTL first.",
	},
	Slack:    2 * time.Second,
	Volatile: true, // dynalite does not write to disk what it answers for before it answers
	Doubles:  true, // who comes later watches for a TTL of his own
	task:     dynamodbTask,
	ready:    each((*Node).awaitDynamoDB),
	back:     (*Node).awaitDynamoDB,
}

// dynaliteVersion is the one that servers/dynalite asks for.
const dynaliteVersion = "4.0.0"

func dynamodbTask(_ Kind, n NodeSpec, p Place) (Task, error) {
	t := Task{standIn: &standIn{"dynalite", dynaliteVersion, "DynamoDB", "DynamoDB runs at Amazon alone", ""},
		Args: []string{"dynalite", "--host", p.Listen, "--port", strconv.Itoa(n.Port), "--path", p.Data + "/db",
			"--createTableMs", "0"}}
	if p.Contained {
		return t, nil
	}
	program, err := builtDynamoDB.find()
	t.Args[0] = program
	return t, err
}

// awaitDynamoDB returns when the server has the table of the locks.
func (n *Node) awaitDynamoDB(ctx context.Context) error {
	db := dynamo.New(dynamo.Options{BaseEndpoint: aws.String("http://" + n.Addr), Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("lockchaos", "lockchaos", ""),
		Retryer:     aws.NopRetryer{}, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	name := aws.String(logins.DynamoDBTable)
	return n.await(ctx, func(ctx context.Context) error {
		_, err := db.CreateTable(ctx, &dynamo.CreateTableInput{TableName: name,
			BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("k"),
				AttributeType: types.ScalarAttributeTypeS}},
			KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("k"),
				KeyType: types.KeyTypeHash}}})
		if _, there := errors.AsType[*types.ResourceInUseException](err); err != nil && !there {
			return err
		}
		table, err := db.DescribeTable(ctx, &dynamo.DescribeTableInput{TableName: name})
		if err == nil && table.Table.TableStatus != types.TableStatusActive {
			err = errors.New("the table is being made")
		}
		return err
	})
}
