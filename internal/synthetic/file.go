package synthetic

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lockchaos/lockchaos/history"
)

// WriteFile writes a history to a file, compressed if its name ends in .zst, or to stdout, which is
// called "-".
func WriteFile(out string, stdout io.Writer, c Config) (planted []Planted, err error) {
	to := stdout
	if out != "-" {
		f, failed := os.Create(out)
		if failed != nil {
			return nil, fmt.Errorf("write a history: %w", failed)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		to = f
	}
	header, keys, err := Header(c)
	if err != nil {
		return nil, err
	}
	w, err := history.NewWriter(to, out)
	if err != nil {
		return nil, err
	}
	enc, err := history.NewEncoder(w, header, keys)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", out, err)
	}
	planted, err = Generate(c, enc.Encode)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", out, err)
	}
	return planted, nil
}
