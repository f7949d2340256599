// Package zookeeper has locks on ZooKeeper: the recipe of its documentation, written
// on a connection of github.com/go-zookeeper/zk, and the Lock of that library.
//
// # The recipe
//
// A client creates an ephemeral sequential znode under the lock's directory. Who has the
// lowest number has the lock; everyone else watches the one znode before its own, so that a
// release wakes one waiter (https://zookeeper.apache.org/doc/current/recipes.html, "Locks").
// The name of the znode holds a GUID: a client that lost the reply to its create looks for it,
// so no orphan stays in the queue (Apache Curator calls this a protected create). The token is
// the znode's czxid, the transaction that created it: transactions are in one order for the
// whole ensemble, numbers are given out in that order, so a later grant has the greater one.
//
// # What is promised
//
// A grant is good until its session ends. ZooKeeper ends a session of which it has heard
// nothing for the session's timeout, and tells the client when that comes back, too late
// for one that is cut off. So the client measures by itself: while it holds something it
// sends a sync every twelfth of the timeout. A sync is answered by the leader, after a
// look whether the session still lives. When five sixths of the timeout have passed since
// the last sync that was answered was sent, the client takes its session for lost, says so
// and closes it. The remaining sixth is for what the leader cannot know: a member reports
// the signs of life of its clients a moment later. A grant is itself only given after such
// a sync, since a member that is cut off from the leader would show an old queue.
//
// A client that is stopped can do nothing of this, and acts on when it
// continues, until its timers have run: only the token protects then.
//
// # Requests without an answer
//
// The library waits for a connection without end, and knows no contexts. Calls are
// therefore left behind when their context ends. If one of them was a create or a delete,
// the outcome is open, and the session is given up, with a lost-event for whatever else
// it held: ZooKeeper deletes its znodes when the session is closed, or expires.
package zookeeper
