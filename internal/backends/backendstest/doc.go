// Package backendstest starts services for the tests of locks, and has what such tests do with
// them: they freeze nodes, end sessions, run the suite of package clienttest.
//
// TestMain of such a package names the locks whose clients its tests kill:
//
//	func TestMain(m *testing.M) { backendstest.Main(m, nats.KV) }
package backendstest
