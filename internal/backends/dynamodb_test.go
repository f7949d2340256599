package backends_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/dynamodb"
)

func TestDynamoDBConformance(t *testing.T) {
	t.Parallel()
	needService(t, "dynamodb")
	conform(t, "dynamodb", time.Second, clienttest.Run, dynamodb.Lease)
}
