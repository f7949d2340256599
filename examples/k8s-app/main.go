// k8s-app pays the orders of a shop, once each: the leader of its replicas does it.
//
//	k8s-app ledger      keeps the payments, and answers on port 8080; FENCE=on: only to the latest leader
//	k8s-app operator    is a replica of the operator that pays
//	k8s-app payments    prints, inside the pod of the ledger, which orders were paid more than once
//
// The leader is elected by client-go, as in most controllers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "k8s-app:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case "ledger":
			return serve(ctx)
		case "operator":
			return operate(ctx)
		case "payments":
			return payments(ctx, os.Stdout)
		}
	}
	return fmt.Errorf("%q: want ledger, operator or payments", args)
}
