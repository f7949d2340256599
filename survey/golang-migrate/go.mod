module example.com/survey/golang-migrate

go 1.26.0

require (
	example.com/golocks/protocol v0.0.0
	github.com/golang-migrate/migrate/v4 v4.20.1
)

require github.com/lib/pq v1.10.9 // indirect

replace example.com/golocks/protocol => ../../examples/go/protocol
