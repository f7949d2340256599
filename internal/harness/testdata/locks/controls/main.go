// The controls of clients/broken, and two locks that are correct, as one program: its argument says
// which of them it is.
package main

import (
	"fmt"
	"os"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/adapted"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
)

func main() {
	for _, k := range append(broken.Kinds(), redis.Setnx, etcd.Lease) {
		if k.Name != os.Args[1] {
			continue
		}
		lock := adapted.Lock{Open: k.Open, Says: clients.Declaration{Name: k.Name, Claims: k.Claims}}
		if err := lock.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	fmt.Fprintln(os.Stderr, "there is no control", os.Args[1])
	os.Exit(1)
}
