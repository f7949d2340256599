module example.com/survey/pglock

go 1.26.0

require (
	cirello.io/pglock v1.16.2
	example.com/golocks/protocol v0.0.0
	github.com/lib/pq v1.12.3
)

replace example.com/golocks/protocol => ../../examples/go/protocol
