// Package etcd is a model of a cluster of etcd for simulations: it has no
// goroutine, no clock and no network of its own. Its host (package hosts/sim) tells
// it the time, carries its messages, and hands it the bytes that clients send.
//
// A [Member] answers the official client: it speaks gRPC over HTTP/2 (wire.go, call.go), and
// serves KV, Lease and Watch as etcd 3.7 does, with etcd's error messages. Members agree by
// the raft library of etcd itself (go.etcd.io/raft/v3), so elections, minorities and lost
// leaders are etcd's own. The store, the leases and the watches are written anew. TestConforms
// asks a real etcd and this model the same random requests and compares what they answer.
//
// Not modelled: users and roles, TLS, snapshots, defragmentation, alarms, changes of members, the
// Lock and Election services of the server, RangeStream, and JSON over HTTP.
package etcd
