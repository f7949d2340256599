package formats

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

// FuzzDecoded: what was text in UTF-16 is the same text in UTF-8, and UTF-8 stays what it is.
func FuzzDecoded(f *testing.F) {
	f.Add("ts,pod\n1,ä€😀\n")
	f.Fuzz(func(t *testing.T, text string) {
		text = "ab" + strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
		units := utf16.Encode([]rune(text))
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			var wide []byte
			for _, u := range units {
				wide = order.AppendUint16(wide, u)
			}
			if got, err := io.ReadAll(Decoded(strings.NewReader(string(wide)))); err != nil || string(got) != text {
				t.Fatalf("%q, %v; want %q", got, err, text)
			}
			if got, err := io.ReadAll(Decoded(strings.NewReader(string(wide) + "0"))); err != nil || string(got) != text+"\ufffd" {
				t.Fatalf("%q, %v; want %q and what stands for half a character", got, err, text)
			}
			marked := append(order.AppendUint16(nil, 0xfeff), wide...)
			if got, err := io.ReadAll(Decoded(strings.NewReader(string(marked)))); err != nil || string(got) != "\ufeff"+text {
				t.Fatalf("%q, %v; want a mark and %q", got, err, text)
			}
		}
		if got, err := io.ReadAll(Decoded(strings.NewReader(text))); err != nil || string(got) != text {
			t.Fatalf("%q, %v; want %q", got, err, text)
		}
	})
}
