// Package docs carries the pages of the documentation that reports and commands quote: they are
// forwarded alone.
package docs

import _ "embed"

// Remedies is remedies.md. A report quotes its sections by their headings.
//
//go:embed remedies.md
var Remedies string

// Protocol is protocol.md. `lockchaos explain` quotes what its lists say of a word.
//
//go:embed protocol.md
var Protocol string
