package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one planted defect.
type mutant struct {
	id   int
	site int // the number of the first of those in the same place
	file string
	line int
	fn   string // the function that it is in
	was  string // the source that it changes
	is   string // what becomes of it
	nr   int    // of several that read the same in one function, from 1

	tested   bool
	killedBy string // the test that noticed; empty: none did
	earlier  string // what an earlier list says of it, until it is tested again
	stands   bool   // the earlier list says that it is equivalent, and the reason is still there
}

// key names a mutant without its line, which moves.
func (m *mutant) key() string {
	key := fmt.Sprintf("%s %s: %s => %s", m.file, m.fn, m.was, m.is)
	if m.nr > 1 {
		key += fmt.Sprintf(" (%d)", m.nr)
	}
	return key
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d %s", m.file, m.line, strings.TrimPrefix(m.key(), m.file+" "))
}

// edit replaces a piece of a file. Edits at one place keep the order of their rank.
type edit struct {
	from, to, rank int
	text           string
}

// mutator walks over one package.
type mutator struct {
	*source
	mutants []*mutant
	seen    map[string]int
	file    string
	fn      string
	edits   []edit
	results bool // the function has results
	last    ast.Stmt
	alone   ast.Stmt // the only statement of the branch that was met last
	nth     int      // wraps so far, for the order of edits at one place
}

// The ranks of edits at one place: what ends there, what begins there, from the
// outside in, and what is replaced.
const (
	rankEnds     = -1 << 30
	rankReplaces = 1 << 30
)

// mutate finds every mutant of the package, and writes the text that has them
// all, each behind its switch.
func (p *source) mutate() []*mutant {
	m := &mutator{source: p, seen: map[string]int{}}
	for _, f := range p.files {
		m.file, m.edits = p.fset.Position(f.Package).Filename, nil
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				m.function(fn)
			}
		}
		p.mutated[m.file] = apply(p.text[m.file], m.edits)
	}
	return m.mutants
}

func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.rank - b.rank
	})
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, text[at:]...)
}

func (m *mutator) function(fn *ast.FuncDecl) {
	m.fn, m.results, m.last = fn.Name.Name, fn.Type.Results != nil, nil
	if list := fn.Body.List; len(list) > 0 {
		m.last = list[len(list)-1]
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			m.statements(n.List)
		case *ast.IfStmt:
			m.condition(n.Cond)
			if n.Else == nil && len(n.Body.List) == 1 {
				m.skip(n.Body)
			}
		case *ast.SwitchStmt:
			m.cases(n)
		case *ast.CaseClause:
			m.statements(n.Body)
		case *ast.ForStmt:
			if n.Cond != nil { // behind a loop without one, a function may have no return
				m.loop(n.Body)
			}
		case *ast.RangeStmt:
			m.loop(n.Body)
		case ast.Expr:
			return m.expression(n)
		}
		return true
	})
}

// plant registers the mutants of one place, and returns the number of the first.
func (m *mutator) plant(from, to token.Pos, is ...string) int {
	site := len(m.mutants) + 1
	for _, becomes := range is {
		x := &mutant{id: len(m.mutants) + 1, site: site, file: m.file, line: m.fset.Position(from).Line, fn: m.fn,
			was: m.fragment(from, to), is: becomes, nr: 1}
		key := x.key()
		m.seen[key]++
		x.nr = m.seen[key]
		m.mutants = append(m.mutants, x)
	}
	return site
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }

func (m *mutator) replace(from, to token.Pos, text string) {
	m.edits = append(m.edits, edit{m.offset(from), m.offset(to), rankReplaces, text})
}

// wrap puts text around a piece. Pieces are wrapped from the outside in.
func (m *mutator) wrap(from, to token.Pos, before, after string) {
	m.nth++
	m.edits = append(m.edits, edit{m.offset(from), m.offset(from), m.nth, before},
		edit{m.offset(to), m.offset(to), rankEnds - m.nth, after})
}

// insert puts text behind a position.
func (m *mutator) insert(at token.Pos, text string) {
	m.nth++
	m.edits = append(m.edits, edit{m.offset(at), m.offset(at), m.nth, text})
}

func (m *mutator) constant(e ast.Expr) bool { return m.info.Types[e].Value != nil }

func (m *mutator) is(e ast.Expr, kind types.BasicInfo) bool {
	t := m.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&kind != 0
}
