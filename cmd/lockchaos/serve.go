package main

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harmless/requests"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/serve"
)

// servePort is where runs are shown, if it is not said.
const servePort = "127.0.0.1:8765"

func serveCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Show a folder of runs in a browser, and how far those are that are under way",
		Long: `Serves the folder that holds the runs (runs, if none is given): a list with a filter that says what each run came to or how far it is, for each run
its scenarios as they go on, the reports, and two runs compared. It only reads, and nothing outside the folder.

Without --listen only this machine reaches it. It has no passwords: who reaches it can read every report and log.`,
		Example: `  lockchaos serve
  lockchaos serve /srv/runs --listen 10.0.0.7:8080`,
		Args: wordCount(0, 1, "serve needs one folder: that which holds the runs, such as runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "runs"
			if len(args) > 0 {
				folder = args[0]
			}
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				return exit.Misuse(fmt.Errorf("%s is no folder of runs (lockchaos run makes one)", folder))
			}
			s, err := serve.New(folder)
			if err != nil {
				return err
			}
			defer s.Close()
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listen on %s: %w (--listen ADDRESS:PORT takes another)", listen, err)
			}
			s.Loopback = requests.Loopback(l)
			if !s.Loopback {
				harmless.Fprintf(cmd.ErrOrStderr(),
					"lockchaos: WARNING: %s can be reached from other machines, and asks for no password: whoever reaches it can read all runs, with their logs\n", l.Addr())
			}
			harmless.Fprintf(cmd.OutOrStdout(), "serving %s at http://%s/ (Ctrl-C ends it)\n", folder, l.Addr())
			return s.Serve(cmd.Context(), l)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", servePort,
		"address and port; one that is not of this machine alone is reachable by others")
	return cmd
}
