package reports

// The forms of the files that are published, for the test of their schemas.
type (
	Saved     = saved
	SavedGate = savedGate
)
