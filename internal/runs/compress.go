package runs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/outside"
)

// CompressHistory replaces a scenario's history by a compressed one, once nobody writes
// it any more. While it grows it stays plain: it is followed live, and whatever ends the
// run leaves all that was recorded. At each moment one of the two is there in whole;
// after a failure it is the plain one. A scenario that has recorded nothing has none.
func CompressHistory(folder string) error {
	plain := filepath.Join(folder, HistoryFile)
	in, err := os.Open(plain)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("compress the history: %w", err)
	}
	defer in.Close()
	next := filepath.Join(folder, "."+HistoryFile+history.Compressed+".next")
	if err := compress(in, next); err != nil {
		return errors.Join(fmt.Errorf("compress %s, which is left as it is: %w", plain, err), removeIfThere(next))
	}
	if err := os.Rename(next, plain+history.Compressed); err != nil {
		return errors.Join(fmt.Errorf("compress %s, which is left as it is: %w", plain, err), removeIfThere(next))
	}
	if err := os.Remove(plain); err != nil {
		return fmt.Errorf("remove the history that has been compressed: %w", err)
	}
	return nil
}

// compress writes a file, down to the disk.
func compress(in io.Reader, name string) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close() // a second time, where all went well
	w, err := history.NewWriter(out, HistoryFile+history.Compressed)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return errors.Join(out.Sync(), out.Close())
}

// removeIfThere removes a file that may not be there.
func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// HistoryIn is the scenario's history in its folder: as it was written, or compressed since.
func HistoryIn(folder string) string {
	return filepath.Join(folder, historyName(folder, ""))
}

// historyName is the path of a scenario's history from the run's folder. Within
// is that of the scenario.
func historyName(dir, within string) string {
	plain := filepath.Join(within, HistoryFile)
	if !outside.Has(dir, plain) && outside.Has(dir, plain+history.Compressed) {
		return plain + history.Compressed
	}
	return plain
}

// OpenHistory opens the history of a scenario. Within is the scenario's folder,
// from that of the run. The file's name is its whole path.
func OpenHistory(dir, within string) (*os.File, error) {
	f, err := outside.Open(dir, historyName(dir, within))
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	return f, nil
}

// ReadHistory reads the history of a scenario into memory, and says in which file it is.
func ReadHistory(dir, within string) (h *history.History, file string, err error) {
	f, err := OpenHistory(dir, within)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	h, err = history.ReadAll(f, f.Name())
	return h, f.Name(), err
}
