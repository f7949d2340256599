package strictyaml

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a file. The parser needs time and memory by the square of how
// deep a file is nested and how many keys a mapping has, and an alias may stand
// for any number of values. Files that people write are far below all of them.
const (
	mostTokens  = 500_000
	mostDepth   = 60
	mostKeys    = 1000 // of one mapping
	mostAnchors = 1000
	mostValues  = 500_000 // with what aliases stand for
)

// parse parses a text that is within the bounds.
func parse(text []byte) (*ast.File, error) {
	tokens := lexer.Tokenize(string(text))
	if err := bounded(tokens); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, err
	}
	e := expansion{anchors: map[string]int{}}
	for _, d := range tree.Docs {
		e.values(d.Body)
	}
	return tree, e.err
}

// tooMuch is an error about what is beyond a bound, with its place.
func tooMuch(at *token.Token, format string, args ...any) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf(format, args...), Token: at}
}

// collection is a sequence or a mapping that is open at some token.
type collection struct {
	flow, mapping bool
	column        int // of a block's entries
	keys          int
}

// bounded refuses what is nested too deeply, or has too many parts, by its tokens alone.
func bounded(tokens token.Tokens) error {
	var open []collection
	anchors := 0
	for i, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, collection{flow: true, mapping: t.Type == token.MappingStartType})
		case token.SequenceEndType, token.MappingEndType:
			open = closeFlow(open)
		case token.SequenceEntryType, token.MappingKeyType:
			open = openBlock(open, t.Position.Column)
		case token.MappingValueType:
			if open = openBlock(open, keyColumn(tokens, i)); !open[len(open)-1].flow {
				open[len(open)-1].keys++
			}
		case token.CollectEntryType: // a key of a flow mapping may have no colon
			if len(open) > 0 && open[len(open)-1].mapping {
				open[len(open)-1].keys++
			}
		case token.AnchorType:
			anchors++
		}
		switch {
		case len(open) > 0 && open[len(open)-1].keys > mostKeys:
			return tooMuch(t, "a mapping with more than %d keys", mostKeys)
		case len(open) > mostDepth:
			return tooMuch(t, "nested more than %d levels deep", mostDepth)
		case anchors > mostAnchors:
			return tooMuch(t, "more than %d anchors", mostAnchors)
		case i >= mostTokens:
			return tooMuch(t, "more than %d words and signs in one file", mostTokens)
		}
	}
	return nil
}

// keyColumn is where the key of a mapping's colon stands.
func keyColumn(tokens token.Tokens, colon int) int {
	if colon > 0 && tokens[colon-1].Position.Line == tokens[colon].Position.Line {
		return tokens[colon-1].Position.Column
	}
	return tokens[colon].Position.Column
}

// closeFlow closes the innermost flow collection.
func closeFlow(open []collection) []collection {
	for len(open) > 0 && !open[len(open)-1].flow {
		open = open[:len(open)-1]
	}
	return open[:max(len(open)-1, 0)]
}

// openBlock opens the block whose entries stand in a column, unless it is open,
// and closes those inside it. In a flow collection columns mean nothing.
func openBlock(open []collection, column int) []collection {
	for {
		if len(open) == 0 {
			return append(open, collection{column: column})
		}
		switch last := open[len(open)-1]; {
		case last.flow, last.column == column:
			return open
		case last.column < column:
			return append(open, collection{column: column})
		}
		open = open[:len(open)-1]
	}
}

// expansion counts the values of a file with what its aliases stand for.
type expansion struct {
	anchors map[string]int
	total   int
	err     error
}

// values counts those of a node.
func (e *expansion) values(node ast.Node) int {
	before := e.total
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			e.values(v)
		}
	case *ast.MappingValueNode:
		e.values(n.Key)
		e.values(n.Value)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			e.values(v)
		}
	case *ast.TagNode:
		e.values(n.Value)
	case *ast.AnchorNode:
		e.anchors[n.Name.GetToken().Value] = e.values(n.Value)
	case *ast.AliasNode:
		e.total += e.anchors[n.Value.GetToken().Value]
	}
	if e.total++; e.total > mostValues {
		if e.err == nil {
			e.err = tooMuch(node.GetToken(), "its aliases stand for more than %d values", mostValues)
		}
		e.total = mostValues
	}
	return e.total - before
}
