package outside

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes a file in a folder from a renderer, in one step: a reader meanwhile finds
// all of the old or all of the new. A link by that name is replaced, and not followed. Where it
// fails there is no such file: half a report is none, and an old one would be taken for the new.
func Write(folder, name string, render func(io.Writer) error) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("write a report: %w", wholeName(folder, name, err))
	}
	defer root.Close()
	if err := replace(root, name, render); err != nil {
		return errors.Join(err, gone(root, name))
	}
	return nil
}

// Replace is Write of a text. Where it fails the old file stays.
func Replace(folder, name string, text []byte) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return wholeName(folder, name, err)
	}
	defer root.Close()
	return replace(root, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// replace writes a new file, and gives it the name of the old one.
func replace(root *os.Root, name string, render func(io.Writer) error) error {
	next := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".next")
	if err := gone(root, next); err != nil {
		return err
	}
	if err := create(root, next, render); err != nil {
		return err
	}
	if err := root.Rename(next, name); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Join(root.Name(), name), err), root.Remove(next))
	}
	return nil
}

// gone removes a file that may not be there.
func gone(root *os.Root, name string) error {
	if err := root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// create makes a file where there is none.
func create(root *os.Root, name string, render func(io.Writer) error) error {
	// exclusive: no link is followed
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write a report: %w", wholeName(root.Name(), name, err))
	}
	// half a file takes room and helps nobody
	if err := errors.Join(render(f), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Join(root.Name(), name), err), root.Remove(name))
	}
	return nil
}

// mostCopied is how long a file may be that is copied (bytes): a file with
// holes may say any length.
const mostCopied = 16 << 30

// Copy copies a folder that lies in another one, by its name, into a third one. It has folders and
// regular files: anything else is an error.
func Copy(to, from, name string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close()
	return fs.WalkDir(source.FS(), filepath.ToSlash(name), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.FromSlash(path)
		if e.IsDir() {
			return target.MkdirAll(path, 0o755)
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file and no folder, which lockchaos does not make: remove it",
				filepath.Join(from, path))
		}
		return copyFile(target, source, path)
	})
}

func copyFile(target, source *os.Root, name string) error {
	in, err := OpenIn(source, name)
	if err != nil {
		return err
	}
	defer in.Close()
	return create(target, name, func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(in, mostCopied+1))
		if err == nil && n > mostCopied {
			return fmt.Errorf("%s: %w", in.Name(), ErrTooLong)
		}
		return err
	})
}
