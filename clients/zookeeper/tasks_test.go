package zookeeper

import (
	"sync/atomic"
	"testing"
)

// Tasks begin while somebody waits for the end of all; none that ran when he
// began to wait is missed.
func TestTasks(t *testing.T) {
	for range 1000 {
		var all tasks
		var ended atomic.Int32
		<-all.Ended() // there is none
		go all.Go(func() {})
		all.Go(func() { ended.Add(1) })
		all.Go(func() { ended.Add(1) })
		<-all.Ended()
		if n := ended.Load(); n != 2 {
			t.Fatalf("%d of 2 tasks had ended", n)
		}
		<-all.Ended()
	}
}
