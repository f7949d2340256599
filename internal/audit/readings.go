package audit

// How long a hold is taken to last: to its last act, to the end of its promise
// too, and where it was never given up and nothing is promised, for ever.
const (
	acts = iota
	promises
	openEnds
)

// span is a hold under one reading of the stamps: from the grant to the last
// instant at which it was held.
type span struct {
	begin, last int64
	lane        int32 // its owner on its key
	open        why
}

// why is what the history does not tell of a hold, so that it may have been longer.
type why uint8

const (
	settled     why = iota
	unasked         // when it began: no line says that it was granted, and one that it was given back
	waited          // when the attempt began that succeeded
	unconfirmed     // whether it still held when it gave the lock back: nobody confirmed that
	endless         // when it ended
	whys
)

// reading is the holds of all keys when every stamp is off by err: a positive one makes
// holds as short as they certainly were, a negative one as long as they may have been.
type reading struct {
	err   int64
	until int
	spans *spans
}
