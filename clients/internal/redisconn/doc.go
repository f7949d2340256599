// Package redisconn is what the locks on Redis share beneath their algorithms: how a call in
// progress is ended, what a command's outcome says for certain, and how a library's loop of tries
// is ended between two tries.
package redisconn
