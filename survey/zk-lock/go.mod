module example.com/survey/zk-lock

go 1.26.0

require (
	example.com/golocks/protocol v0.0.0
	github.com/go-zookeeper/zk v1.0.4
)

replace example.com/golocks/protocol => ../../examples/go/protocol
