package history

import (
	"bufio"
	"fmt"
	"io"
)

// Encode writes a whole history as a file of it: the header and a line for each event. The End event counts what is written before it. What was truncated reads
// as truncated again, since it has no End event.
func (h *History) Encode(w io.Writer) error {
	out := bufio.NewWriter(w)
	line, err := MarshalHeader(h.Header, h.Keys)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("history: write: %w", err)
		}
		if i == len(h.Events) {
			break
		}
		e := h.Events[i]
		if e.Type == End {
			e.Seq = int64(i)
		}
		if line, err = AppendEvent(line[:0], h.Keys, &e); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("history: write: %w", err)
	}
	return nil
}
