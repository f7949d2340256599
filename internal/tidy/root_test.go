package tidy_test

// root is the repository's root, in which each test names its files. A TestMain that changed the
// folder for all would do so before go test begins to take note of what is read, and go test would
// remember a result whatever the files then said.
const root = "../.."
