package audit

import "github.com/lockchaos/lockchaos/history"

// hold is one grant and what its owner did under it.
type hold struct {
	acquire int32 // its op
	// begin and finish are those of the acquire.
	begin, finish int64
	use           int32 // the op under it that came last
	release       int32 // the release that ended it; -1: none
	key           int32
	lane          int32
	token         history.Token
	last          int64 // the start of the last act
	until         int64 // when its owner gave it up, or was told of its loss; never
	renewed       int64 // the start of the last renewal
	// gaveUp is when its owner first gave it back and nobody confirmed that it held; never. since
	// is when it began at the earliest, where no line says that it was granted; 0: one does.
	gaveUp, since int64
	// least and most are how deep a reentrant owner certainly, and at most, is in it.
	least, most int32
	ended       bool
	replaced    bool // its owner was granted the key again
	told        bool // its owner was told of its loss
	attempted   bool // a release of unknown fate was sent
	// its place in the order when its promise was taken away without a release; 0: it was not
	next     int32
	tried    int64 // when the first one was sent, to a hold that was good until then
	adrift   int32 // an earlier release of its owner that may end it, from 1 like ops; 0: none
	before   int32 // its owner's last hold on the key before it; -1: none
	follower int32 // its owner's next one; 0: none
	inferred bool
	wrote    bool // a write was made under it
	twice    bool // a later hold has its token, too
	nested   bool // its owner was granted the key again, and had not given this grant up
}

// ownerOnKey is one owner on one key: the holds that it has not given up, and what
// else tells about its later ops.
type ownerOnKey struct {
	key, owner int32
	number     int32 // of lanes, from 1
	open       []int32
	newest     int32   // its last hold; -1: none
	pending    []int32 // acquires of unknown fate: each may still happen
	// a release of unknown fate: it may still happen, and end a later hold; -1: none
	adrift int32
	parts  []splitClient // none until it asks for the key
}

// splitClient is one of the clients that an owner becomes on a key.
type splitClient struct {
	client int32
	free   int32 // the last op that it is needed for
	freeAt int64 // when that was over
}
