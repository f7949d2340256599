package reports

import "os"

// IndexFile is the first page of a run, in its folder.
const IndexFile = "index.html"

// There is a path if something is there, and else says that nothing is.
func There(path string) string {
	if _, err := os.Stat(path); err != nil {
		return "none, it could not be written"
	}
	return path
}
