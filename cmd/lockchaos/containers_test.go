package main

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// TestContainers tries all that needs a container engine, one after the other:
// most of it looks at everything that the engine has. It waits most of the time,
// so the tests that need no engine, and whose state is their own, run beside it.
func TestContainers(t *testing.T) {
	needed.Apart(t, "it needs a container engine")
	t.Parallel()
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"ComposeApp", testComposeApp},
		{"KilledComposeRunHealsTheServer", testKilledComposeRunHealsTheServer},
		{"NextComposeRunHealsTheServer", testNextComposeRunHealsTheServer},
		{"ComposeHooksThatAreCommands", testComposeHooksThatAreCommands},
		{"KilledComposeRunLeavesNothingStopped", testKilledComposeRunLeavesNothingStopped},
		{"ComposeOfTheUsers", testComposeOfTheUsers},
		{"ComposeOfOurs", testComposeOfOurs},
		{"FaultsInContainers", testFaultsInContainers},
		{"RuntimesAgree", testRuntimesAgree},
		{"KilledDockerRunIsCleaned", testKilledDockerRunIsCleaned},
		{"DockerErrors", testDockerErrors},
		{"ServicesInContainers", testServicesInContainers},
		{"UnreadRunLeavesNothing", testUnreadRunLeavesNothing},
		{"Image", testImage},
	} {
		t.Run(c.name, c.test)
	}
}
