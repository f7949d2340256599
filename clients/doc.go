// Package clients says what a lock is to lockchaos: the interfaces that every lock implements, its
// errors, and the claims that it makes.
//
// A Lock acquires and releases keys. Optional interfaces add abilities: Holder can be asked whether
// a grant still stands, Renewer renews a grant, and Watcher reports a loss by itself. A Kind
// describes a lock to the command: its name, its service, its claims, and how to open it.
//
// Errors are definite or not. ErrBusy, ErrNotHeld and ErrUnsupported say that the call had no
// effect and never will have. Every other error leaves that open.
//
// A lock is judged by its Claims alone. A claim that it does not make is not held against it.
//
// The folders below this one have the implementations, one folder a service or library. Each has
// tests on the real server, which run the suite of package clienttest.
//
// A control is a lock that is broken on purpose, so that a property has something to catch. It
// stands in the folder of the lock that it spoils where it needs that lock's unexported code, as
// etcd.TokenLease does. Package broken has all others, which are made of exported parts (With).
package clients
