module example.com/survey/goose-table

go 1.26.0

require (
	example.com/golocks/protocol v0.0.0
	github.com/lib/pq v1.12.3
	github.com/pressly/goose/v3 v3.29.0
)

require (
	github.com/sethvargo/go-retry v0.5.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
)

replace example.com/golocks/protocol => ../../examples/go/protocol
