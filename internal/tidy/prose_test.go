package tidy_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The widths that people read at a glance, in columns, of which a tab takes four.
const (
	widestComment = 100
	widestCode    = 140 // without the text of its strings, which can't be broken
)

// Of 1,000 lines of product code so many may be wider than wideLine, strings included.
const (
	wideLine        = 120
	widePerThousand = 8
)

// longestFile is how many lines a file may have that people write.
const longestFile = 500

var (
	// odd is what the prose of comments says in plainer words.
	odd = regexp.MustCompile(`\b(tells whether|heeds|gainsays|[Ww]hoever)\b`)
	// generated is how a file begins that a program has written (go help generate).
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	// aside is what stands beside the product.
	aside = regexp.MustCompile(`^(examples|survey)/`)
	// unbroken are comments that stay in one line: code and tables in them,
	// directives, and addresses.
	unbroken = regexp.MustCompile(`^//(\t|  |[a-z]+:)|https?://\S*\S{20}`)
)

// TestProse: files are as long, and comments and code as wide, as people can read; and comments use
// Go's words.
func TestProse(t *testing.T) {
	t.Chdir(root)
	files, product, wide := 0, 0, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if n := strings.Count(string(text), "\n"); n > longestFile && !generated.Match(text) {
			t.Errorf("%s: %d lines, of at most %d: divide it by subject", path, n, longestFile)
		}
		if !strings.HasSuffix(path, "_test.go") && !aside.MatchString(path) && !generated.Match(text) {
			for line := range strings.Lines(string(text)) {
				product++
				if columns(strings.TrimSuffix(line, "\n")) > wideLine {
					wide++
				}
			}
		}
		proseOf(t, path, text)
		return nil
	})
	if wide*1000 > widePerThousand*product {
		t.Errorf("%d of %d lines of product code are wider than %d columns: at most %d of 1,000 may be", wide, product,
			wideLine, widePerThousand)
	}
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// proseOf looks at a file.
func proseOf(t *testing.T, path string, text []byte) {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile(path, set.Base(), len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	lines := strings.Split(string(text), "\n")
	code := map[int]int{} // how wide a line is without its strings
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		at := file.Position(pos)
		line := lines[at.Line-1]
		switch kind {
		case token.COMMENT:
			if odd.MatchString(literal) {
				t.Errorf("%s: %q has a plainer word", at, odd.FindString(literal))
			}
			own := strings.TrimSpace(line) == literal
			if own && columns(line) > widestComment && !unbroken.MatchString(literal) {
				t.Errorf("%s: a comment of %d columns, of at most %d", at, columns(line), widestComment)
			}
		case token.STRING:
			if strings.Contains(literal, "\n") {
				code[at.Line] = -1 << 20
				code[at.Line+strings.Count(literal, "\n")] = -1 << 20
				continue
			}
			code[at.Line] -= columns(literal)
		default:
			code[at.Line] += 0
		}
	}
	for n, less := range code {
		if wide := columns(lines[n-1]) + less; wide > widestCode {
			t.Errorf("%s:%d: code of %d columns, of at most %d", path, n, wide, widestCode)
		}
	}
}

// columns is how wide a text is.
func columns(text string) int { return utf8.RuneCountInString(text) + 3*strings.Count(text, "\t") }
