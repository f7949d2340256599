package main

import (
	"testing"

	"github.com/lockchaos/lockchaos/hosts/docker/dockertest"
)

// containerTest is a test that needs a container engine.
type containerTest struct {
	name string
	test func(*testing.T)
}

// TestContainers tries all that needs a container engine. It waits most of the time, so the tests that need no engine, and whose
// state is their own, run beside it.
func TestContainers(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	// These look at everything that the engine has while they run, or need the processors for themselves: one after the other.
	for _, c := range []containerTest{
		{"KilledComposeRunHealsTheServer", testKilledComposeRunHealsTheServer},
		{"NextComposeRunHealsTheServer", testNextComposeRunHealsTheServer},
		{"KilledComposeRunLeavesNothingStopped", testKilledComposeRunLeavesNothingStopped},
		{"ComposeOfTheUsers", testComposeOfTheUsers},
		{"FaultsInContainers", testFaultsInContainers},
		{"KilledDockerRunIsCleaned", testKilledDockerRunIsCleaned},
		{"UnreadRunLeavesNothing", testUnreadRunLeavesNothing},
	} {
		t.Run(c.name, c.test)
	}
	// Side by side, and looked at when all are over: none may leave anything in the engine.
	before := engineState(t)
	t.Cleanup(func() {
		if after := engineState(t); after != before {
			t.Errorf("the engine had\n%s\nand has\n%s", before, after)
		}
	})
	for _, c := range []containerTest{
		{"DockerErrors", testDockerErrors},
		{"ComposeOfOurs", testComposeOfOurs},
		{"RuntimesAgree", testRuntimesAgree},
		{"ComposeHooksThatAreCommands", testComposeHooksThatAreCommands},
		{"ComposeApp", testComposeApp},
		{"ServicesInContainers", testServicesInContainers},
		{"ValkeyInContainers", testValkeyInContainers},
		{"Image", testImage},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t)
		})
	}
}
