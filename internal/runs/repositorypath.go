package runs

import (
	"os"
	"path/filepath"
)

// workspaceVars name the folder that a CI system has checked out: paths in annotations begin there.
var workspaceVars = []string{"GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE"}

// repositoryPath is a file's path as a CI system knows it: from the root of
// what it has checked out, with slashes.
func repositoryPath(file string) string {
	if file == "" {
		return ""
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	roots := []string{}
	for _, name := range workspaceVars {
		roots = append(roots, os.Getenv(name))
	}
	here, _ := os.Getwd()
	for _, root := range append(roots, here) {
		if root == "" {
			continue
		}
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(file)
}
