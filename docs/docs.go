// Package docs carries the page of the documentation that reports quote: they are forwarded alone.
package docs

import _ "embed"

// Remedies is remedies.md. A report quotes its sections by their headings.
//
//go:embed remedies.md
var Remedies string
