package clients

// Tell tells a Watcher's reader of a loss. A reader that is slow, or not there,
// holds nobody up: a task of the background waits for it until the lock's end.
func Tell(reader chan<- Loss, loss Loss, end <-chan struct{}, background func(task func())) {
	select {
	case reader <- loss:
		return
	default:
	}
	background(func() {
		select {
		case reader <- loss:
		case <-end:
		}
	})
}
