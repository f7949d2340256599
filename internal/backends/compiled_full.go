//go:build !lite

package backends

import (
	"github.com/lockchaos/lockchaos/internal/backends/etcdnode"
	"github.com/lockchaos/lockchaos/internal/backends/natsnode"
)

// compiled are the servers of services that are compiled in.
var compiled = []nodeProgram{{"etcd", etcdnode.Run}, {"nats", natsnode.Run}}
