package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of every command into a folder",
		Long: `Writes a manual page (section 1) for lockchaos and each of its commands into DIR, from the same texts as --help. Read one with "man DIR/lockchaos-run.1", or install
them in a folder of man's path, such as /usr/local/share/man/man1.

$SOURCE_DATE_EPOCH, if it is set, is the date of the pages.`,
		Example: "  lockchaos man /usr/local/share/man/man1",
		Args:    wordCount(1, 1, "man needs one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return exit.Misuse(fmt.Errorf("make the folder of the manual pages: %w", err))
			}
			root := cmd.Root()
			forManual(root)
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "lockchaos " + version,
				Manual: "lockchaos"}, dir); err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			pages, err := filepath.Glob(filepath.Join(dir, "lockchaos*.1"))
			if err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d pages in %s\n", len(pages), dir)
			return nil
		},
	}
}

// forManual makes the help of every command fit for the library that makes manual pages of it,
// which takes it for Markdown: lines that are set in by two columns are examples, and stay lines.
func forManual(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	var lines []string
	for _, line := range strings.Split(cmd.Long, "\n") {
		if strings.HasPrefix(line, "  ") {
			line = "  " + line // four columns are a block of code
		} else {
			line = strings.NewReplacer("_", `\_`, "*", `\*`, "<", `\<`, "[", `\[`).Replace(line)
		}
		lines = append(lines, line)
	}
	cmd.Long = strings.Join(lines, "\n")
	for _, c := range cmd.Commands() {
		forManual(c)
	}
}
