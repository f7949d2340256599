//go:build !wasip1

package lines

// now is of simulations only: 0 is a stamp that is not told.
func now() int64 { return 0 }
