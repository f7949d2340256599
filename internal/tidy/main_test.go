package tidy_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets each test name files as the repository's root does.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}
