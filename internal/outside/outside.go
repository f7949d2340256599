// Package outside opens, writes and copies files in folders that somebody else may have made: the
// folder of a run from a colleague, from a CI job, from the bug report of a stranger.
//
// Every function takes the folder, which the user has named and which is followed wherever it
// is, and a name inside it, which nobody vouches for. The name may have several segments.
// Nothing outside the folder is read or written, whatever the name is and wherever links lead
// (os.Root). Only regular files are read: opening a pipe waits for nobody, and a device is never
// read. Nothing is written through a link. Who reads a whole file says how long it may be.
package outside

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrTooLong is the error of a file that is longer than it may be.
var ErrTooLong = errors.New("it is too long for a file of its kind")

// ErrIrregular is the error of a pipe, a device or a folder where a file should be. It is one of
// fs.ErrNotExist: there is no such file.
var ErrIrregular = fmt.Errorf("it is no regular file: %w", fs.ErrNotExist)

// Open opens a regular file in a folder for reading.
func Open(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, wholeName(folder, name, err)
	}
	defer root.Close()
	return OpenIn(root, name)
}

// OpenIn opens a regular file below a root for reading.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, wholeName(root.Name(), name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrIrregular
	}
	if err != nil {
		return nil, wholeName(root.Name(), name, errors.Join(err, f.Close()))
	}
	return f, nil
}

// wholeName makes an error about a name in a folder one that tells both. The
// name is not made shorter: its dots are what is wrong with it.
func wholeName(folder, name string, err error) error {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	if name != "" && name != "." {
		folder += string(filepath.Separator) + name
	}
	return &fs.PathError{Op: "open", Path: folder, Err: err}
}

// Read reads a regular file in a folder to its end. Where it is longer than
// most (bytes), the error is ErrTooLong.
func Read(folder, name string, most int64) ([]byte, error) {
	f, err := Open(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := Bounded(f, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, name), err)
	}
	return text, nil
}

// Bounded reads an open file to its end. Where it is longer than most (bytes),
// the error is ErrTooLong.
func Bounded(f io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, ErrTooLong
	}
	return text, err
}

// Has reports whether a folder has a file of that name, as far as it does not
// lead out of the folder.
func Has(folder, name string) bool {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Stat(name)
	return err == nil
}

// Folder returns the path of a folder in a folder. It is an error if it is not
// there, or leads out of it.
func Folder(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", wholeName(folder, name, err)
	}
	defer root.Close()
	inner, err := root.OpenRoot(name)
	if err != nil {
		return "", wholeName(folder, name, err)
	}
	return filepath.Join(folder, name), inner.Close()
}

// MakeFolder is Folder of one that is made where it is not there.
func MakeFolder(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", wholeName(folder, name, err)
	}
	defer root.Close()
	if err := root.MkdirAll(name, 0o755); err != nil {
		return "", wholeName(folder, name, err)
	}
	return Folder(folder, name)
}

// rootFS are all that the file system of an os.Root can do.
type rootFS interface {
	fs.StatFS
	fs.ReadDirFS
}

// files is a file system that opens regular files alone.
type files struct {
	rootFS
	root *os.Root
}

// FS is the file system below a root. It lists folders, and opens regular files
// alone, without waiting.
func FS(root *os.Root) fs.FS { return files{root.FS().(rootFS), root} }

// Open opens a regular file.
func (f files) Open(name string) (fs.File, error) { return OpenIn(f.root, filepath.FromSlash(name)) }
