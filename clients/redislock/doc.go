// Package redislock has the lock of the library github.com/bsm/redislock on one Redis server.
//
// It is used as applications use it: Obtain with the TTL and a linear backoff of TTL/50,
// Release, and TTL to ask whether the lock stands; Refresh is not called. Obtain takes the key
// with a script around SET NX PX, with a random value that names the grant; Release compares
// and deletes. The library calls that value a token. It is no fencing token: it can be
// compared for equality only, so a store cannot tell from it which of two writes is the older.
//
// # What is promised
//
// A grant is good for the TTL from the start of the attempt that took the key (validity
// from_invocation), and a release that answers ok proves that the hold stood until then,
// since the value was compared. Nothing renews it and nobody tells the client of its end.
//
// # Attempts
//
// Obtain gives up with the first command that fails, so only its last attempt can be open.
// Each command is looked at as it is sent and answered, to stamp the attempt and to tell an
// answer that came from one that did not: the library's errors do not. The script is such that
// a repeated attempt would recognise its own value, but go-redis is told to repeat nothing.
//
// An attempt in progress when the context ends is given a short grace, at most
// 100 ms, to be answered.
package redislock
