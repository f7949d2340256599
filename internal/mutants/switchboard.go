package main

// switchboard is the file that is added to the mutated package. An operator has
// its mutants' numbers in a row, from id on.
const switchboard = `
import (
	"cmp"
	"os"
	"strconv"
)

var (
	mutantOn, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantSeen  = make([]bool, mutantCount())
)

// mutantCount is how many mutants are to be recorded as reached; 0: none.
func mutantCount() int {
	n, _ := strconv.Atoi(os.Getenv("MUTANT_COUNT"))
	return n
}

func mutantIs(id int) bool {
	if id < len(mutantSeen) {
		mutantSeen[id] = true
	}
	return id == mutantOn
}

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

type mutantNumber interface {
	mutantInteger | ~float32 | ~float64
}

func mutantFlip(id int, b bool) bool { return b != mutantIs(id) }

func mutantCond(id int, b bool) bool {
	if mutantIs(id) {
		return false
	}
	return b || mutantOn == id+1
}

func mutantLess[T cmp.Ordered](id int, a, b T) bool {
	if mutantIs(id) {
		return a <= b
	}
	return (a < b) != (mutantOn == id+1)
}

func mutantAtMost[T cmp.Ordered](id int, a, b T) bool {
	if mutantIs(id) {
		return a < b
	}
	return (a <= b) != (mutantOn == id+1)
}

func mutantMore[T cmp.Ordered](id int, a, b T) bool { return mutantLess(id, b, a) }

func mutantAtLeast[T cmp.Ordered](id int, a, b T) bool { return mutantAtMost(id, b, a) }

func mutantAnd(id int, a bool, b func() bool) bool {
	switch {
	case mutantIs(id):
		return a || b()
	case mutantOn == id+1:
		return a
	case mutantOn == id+2:
		return b()
	}
	return a && b()
}

func mutantOr(id int, a bool, b func() bool) bool {
	switch {
	case mutantIs(id):
		return a && b()
	case mutantOn == id+1:
		return a
	case mutantOn == id+2:
		return b()
	}
	return a || b()
}

func mutantAdd[T mutantNumber](id int, a, b T) T {
	if mutantIs(id) {
		return a - b
	}
	return a + b
}

func mutantSub[T mutantNumber](id int, a, b T) T {
	if mutantIs(id) {
		return a + b
	}
	return a - b
}

func mutantMul[T mutantNumber](id int, a, b T) T {
	if mutantIs(id) {
		return a / b
	}
	return a * b
}

func mutantDiv[T mutantNumber](id int, a, b T) T {
	if mutantIs(id) {
		return a * b
	}
	return a / b
}

func mutantRem[T mutantInteger](id int, a, b T) T {
	if mutantIs(id) {
		return a * b
	}
	return a % b
}

func mutantMin[T cmp.Ordered](id int, list ...T) T { return mutantBest(id, list, true) }
func mutantMax[T cmp.Ordered](id int, list ...T) T { return mutantBest(id, list, false) }

func mutantBest[T cmp.Ordered](id int, list []T, least bool) T {
	if mutantIs(id) {
		least = !least
	}
	if left := mutantOn - id - 1; left >= 0 && left < len(list) {
		list = append(append([]T(nil), list[:left]...), list[left+1:]...)
	}
	best := list[0]
	for _, x := range list[1:] {
		if (x < best) == least && x != best {
			best = x
		}
	}
	return best
}
`

// recorder is the test file that is added: a run that counts writes down what it reached.
const recorder = `
import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if path := os.Getenv("MUTANT_REACHED"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			panic(err)
		}
		for id, seen := range mutantSeen {
			if seen {
				fmt.Fprintln(f, id)
			}
		}
		if err := f.Close(); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}
`
