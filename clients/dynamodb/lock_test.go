package dynamodb_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/dynamodb"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

func TestMain(m *testing.M) { backendstest.Main(m, dynamodb.Lease) }

func TestDynamoDBConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "dynamodb")
	backendstest.Conform(t, "dynamodb", time.Second, clienttest.Run, dynamodb.Lease)
}
