// Package locktest tests a distributed lock written in Go, from `go test`: is
// it safe for what I use it for?
//
// A test names a lock service, a fault, and how a client of the lock is opened:
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, locktest.Scenario{Service: "redis", Fault: "pause-holder"}, func(n locktest.Nodes) (clients.Lock, error) {
//			return mylock.New(n.Addrs[0], n.TTL)
//		})
//	}
//
// Run starts a real server and four clients, each on a host of its own in a private network,
// lets them take the lock and write to a store, injects the fault, records everything and
// judges the record, as `lockchaos run` does. Each property is a subtest. One that is
// violated tells the smallest part of the history that shows it, and where the report is.
//
// [Exam] attacks a lock in every way that its claims invite, as `lockchaos
// exam` does: each attack is a subtest.
//
// [Simulate] does the same in virtual time, without namespaces and servers: the
// client library is real, Redis and the network are not.
//
// [Check] judges the log that an application wrote in a test of its own.
//
// # Processes
//
// Nothing has to be installed but the lock service. The test binary is started again
// as all that a run needs: inside new namespaces as the one that carries the run
// out, and there as nodes that are compiled in (etcd, the store) and as clients. A
// client comes to its lock by running the very test again (-test.run with its name)
// until it reaches the same call of Run, which then serves, and never returns. So:
//
//   - Whatever a test does before it calls Run, each client does too, TestMain included.
//     Keep it short, and leave out with [Client] what only the test itself should do.
//   - Everything that a client prints goes to its log in the run's folder, and
//     nothing of it to the test's output.
//   - Flags of your own are passed on, -short too.
//   - A data race that a client's race detector finds (go test -race) fails the test.
//
// In a simulation a client is not a process but an instance of the package's tests, compiled
// to WebAssembly (GOOS=wasip1) by the go command on the path. It has no files, no network
// but the simulated one, and no environment. A package of tests that does not compile so
// fails the test, with the compiler's message; //go:build !wasip1 leaves a file out.
//
// # Outcomes
//
// A property that is violated, or inconclusive, fails the test, unless the scenario
// says that it is expected ([Scenario.Expect]), or inherent to locks of its kind
// under this fault ([Scenario.Inherent]). Inconclusive means that the run does not
// prove anything: too few grants on a busy machine, a fault that met nobody. Such a
// run is tried again, twice at most, and each time for twice as long; it never
// passes. A property that the lock makes no claim about is skipped, and says so.
//
// Where the machine refuses namespaces, or the service's program is missing, the test
// is skipped, with what to change or to install; with LOCKCHAOS_REQUIRE=all in the
// environment that is a failure. With -short only the smoke set is run: no fault, and a
// holder that is paused or killed. On systems other than Linux Run is always skipped.
//
// # Environment
//
//	LOCKCHAOS_SEED     the seed of every scenario that has none of its own, to run one again
//	LOCKCHAOS_RUNS     a folder in which the folders of runs are kept, for lockchaos report and serve; if it is not set, that of a run that failed lies in the folder for temporary files
//	LOCKCHAOS_REQUIRE  "all": what can't be run here fails
//
// go test remembers a test that has passed, and does not run it again before
// something has changed: -count=1 makes it.
package locktest
