package checker

import (
	"fmt"
	"strings"
	"testing"
)

// manyTicks is a job of so many ticks: A executes each, and is marked as done, or dies, as asked.
func manyTicks(n int, each func(b *strings.Builder, i int)) string {
	var b strings.Builder
	fmt.Fprintf(&b, "C acquire [-150,%d] busy\n", n*200)
	for i := range n {
		each(&b, i)
	}
	return b.String()
}

// BenchmarkManyTicks: the judge's time grows with the executions, and not with their square.
func BenchmarkManyTicks(b *testing.B) {
	for name, each := range map[string]func(b *strings.Builder, i int){
		"in order": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "A acquire [%d,%d] attempt=%d tok=%d\nA release [%d,%d]\n", i*200-100, i*200+1, i*200, 1000+i*200, i*200+20, i*200+21)
		},
		"never done": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "A acquire [%d,%d] attempt=%d tok=%d\nA write [%d,%d]\n", i*200-100, i*200+1, i*200, 1000+i*200, i*200+20, i*200+21)
		},
		"deaths": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "A acquire [%d,%d] attempt=%d tok=%d proc=%d\nkill A [%d,%d]\nA exit [%d] proc=%d\n", i*200-100, i*200+1, i*200, 1000+i*200, i+1, i*200+20, i*200+21, i*200+21, i+1)
		},
	} {
		for _, n := range []int{2_000, 8_000} {
			h := jobScript(nil).history(manyTicks(n, each))
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					Judge(h, Options{Keep: 3})
				}
			})
		}
	}
}
