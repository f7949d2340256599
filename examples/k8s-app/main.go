// k8s-app pays each order of a shop once: the leader of its replicas does. client-go elects the
// leader, as in most controllers.
//
//	k8s-app operator    is one replica
//	k8s-app ledger      keeps the payments, on port 8080; with FENCE=on it refuses former leaders
//	k8s-app payments    prints which orders were paid more than once; run it in the ledger's pod
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
