module example.com/survey/go-pglock

go 1.26.0

require (
	example.com/golocks/protocol v0.0.0
	github.com/allisson/go-pglock/v3 v3.2.0
	github.com/lib/pq v1.12.3
)

replace example.com/golocks/protocol => ../../examples/go/protocol
