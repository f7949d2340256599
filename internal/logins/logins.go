// Package logins has the users, keys and names by which locks, store and services find each other.
// Services make them, clients use them. They are no secrets: the services that lockchaos starts
// live on private networks, and hold nothing of value.
package logins

// Who connects to PostgreSQL and to MariaDB, without a password, and to which database. The user
// may make databases and tables. (The account with a password is in backends/account.go.)
const (
	PostgresUser     = "lockchaos"
	PostgresDatabase = "postgres"
	MariaDBUser      = "lockchaos"
	MariaDBDatabase  = "lockchaos"
)

// The bucket of an object store, and the account that may do anything in it.
const (
	S3Bucket = "lockchaos"
	S3Key    = "lockchaos"
	S3Secret = "lockchaos-secret"
)

// What locks use of other services.
const (
	// RedisPrimary is what the sentinels of redis-failover call what they watch.
	RedisPrimary = "lockchaos"
	// NATSBucket is the bucket of keys and values. It is made before the service counts as ready,
	// so that it has a leader.
	NATSBucket = "lockchaos"
	// DynamoDBTable is the table of items by the key "k".
	DynamoDBTable = "lockchaos"
	// KubernetesToken is the bearer token of somebody who may do anything.
	KubernetesToken = "lockchaos-token"
	// CronTable is where the schedulers on PostgreSQL claim the ticks of their jobs, a row for each
	// job. A guarded store in the same database marks them as done there.
	CronTable = "public.lockchaos_cron"
)
