// Package cache is lockchaos's part of the user's cache: $XDG_CACHE_HOME or
// ~/.cache. Programs lie there that lockchaos runs. So its folders are of mode 0700,
// and one that belongs to another user, or that others may write into, is not used.
package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Error says why the user's cache can't be used.
type Error struct{ Err error }

// Error returns the text.
func (e *Error) Error() string {
	return fmt.Sprintf("the user's cache: %v (set XDG_CACHE_HOME to a folder of your own, which need not exist)", e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// OfMachine marks it as an error of the machine's: the user's words were right.
func (e *Error) OfMachine() bool { return true }

// root is lockchaos's part of the user's cache.
func root() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", &Error{err}
	}
	return filepath.Join(dir, "lockchaos"), nil
}

// Folder returns a folder of the cache, and makes it if it is not there.
func Folder(name string) (string, error) {
	dir, err := root()
	if err != nil {
		return "", err
	}
	whole := filepath.Join(dir, name)
	if err := os.MkdirAll(whole, 0o700); err != nil {
		return "", &Error{err}
	}
	for _, folder := range []string{dir, whole} {
		if err := own(folder); err != nil {
			return "", &Error{err}
		}
	}
	return whole, nil
}

// Find returns the path of a file in a folder of the cache; "": there is none.
func Find(name, file string) (string, error) {
	dir, err := root()
	if err != nil {
		return "", nil //nolint:nilerr // without a cache there is nothing in it
	}
	path := filepath.Join(dir, name, file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if _, err := Folder(name); err != nil {
		return "", err
	}
	return path, nil
}

// own holds a folder to be the user's own: nobody else may write into it, nor look into it.
func own(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, whose programs lockchaos would run", folder, owner)
	}
	if runtime.GOOS == "windows" { // whose modes say nothing about other users
		return nil
	}
	mode := info.Mode().Perm()
	if mode&0o022 != 0 {
		return fmt.Errorf("other users may write into %s (mode %04o), and lockchaos runs programs from there: delete it", folder, mode)
	}
	if mode&0o077 != 0 { // of an earlier version
		return os.Chmod(folder, 0o700)
	}
	return nil
}
