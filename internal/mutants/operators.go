package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// The operators of mutation. Each wraps what it mutates into a call that looks
// at the switch (see switchboard), evaluates what the original does, in its
// order and no more, and returns something else if the switch says so.

var swapped = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ,
	token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL}

var negated = map[token.Token]token.Token{token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ,
	token.GEQ: token.LSS, token.EQL: token.NEQ, token.NEQ: token.EQL}

// expression mutates an expression, and reports whether to look inside.
func (m *mutator) expression(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if !m.constant(e) {
			m.binary(e)
		}
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			m.flip(e, m.fragment(e.X.Pos(), e.X.End()))
		}
	case *ast.CallExpr:
		m.extreme(e)
	case *ast.Ident:
		if b, ok := m.info.Uses[e].(*types.Const); ok && b.Pkg() == nil && (e.Name == "true" || e.Name == "false") {
			m.flip(e, map[string]string{"true": "false", "false": "true"}[e.Name])
		}
	case *ast.KeyValueExpr:
		_, plain := e.Key.(*ast.Ident)
		if !plain {
			ast.Inspect(e.Value, func(n ast.Node) bool {
				if x, ok := n.(ast.Expr); ok {
					return m.expression(x)
				}
				return true
			})
			return false
		}
	}
	return true
}

func (m *mutator) flip(e ast.Expr, is string) {
	m.wrap(e.Pos(), e.End(), fmt.Sprintf("mutantFlip(%d, ", m.plant(e.Pos(), e.End(), is)), ")")
}

func (m *mutator) binary(e *ast.BinaryExpr) {
	with := func(op token.Token) string {
		return m.fragment(e.X.Pos(), e.X.End()) + " " + op.String() + " " + m.fragment(e.Y.Pos(), e.Y.End())
	}
	switch e.Op {
	case token.EQL, token.NEQ:
		m.flip(e, with(negated[e.Op]))
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		id := m.plant(e.Pos(), e.End(), with(swapped[e.Op]), with(negated[e.Op]))
		name := map[token.Token]string{token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "More",
			token.GEQ: "AtLeast"}[e.Op]
		m.call(e, fmt.Sprintf("mutant%s(%d, ", name, id))
	case token.LAND, token.LOR:
		other := map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}[e.Op]
		id := m.plant(e.Pos(), e.End(), with(other), m.fragment(e.X.Pos(), e.X.End()), m.fragment(e.Y.Pos(), e.Y.End()))
		name := map[token.Token]string{token.LAND: "And", token.LOR: "Or"}[e.Op]
		m.wrap(e.Pos(), e.End(), fmt.Sprintf("mutant%s(%d, ", name, id), ") })")
		m.replace(e.OpPos, e.OpPos+2, ", func() bool { return (")
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		if !m.is(e, types.IsNumeric) {
			return
		}
		name := map[token.Token]string{token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Div",
			token.REM: "Rem"}[e.Op]
		m.call(e, fmt.Sprintf("mutant%s(%d, ", name, m.plant(e.Pos(), e.End(), with(swapped[e.Op]))))
	}
}

// call turns an operator into a call with both operands.
func (m *mutator) call(e *ast.BinaryExpr, name string) {
	m.wrap(e.Pos(), e.End(), name, ")")
	m.replace(e.OpPos, e.OpPos+token.Pos(len(e.Op.String())), ",")
}

// extreme swaps min and max, and leaves out one argument after the other.
func (m *mutator) extreme(e *ast.CallExpr) {
	f, ok := e.Fun.(*ast.Ident)
	if !ok || m.constant(e) || f.Name != "min" && f.Name != "max" {
		return
	}
	if _, builtin := m.info.Uses[f].(*types.Builtin); !builtin {
		return
	}
	other, name := map[string]string{"min": "max", "max": "min"}[f.Name],
		map[string]string{"min": "Min", "max": "Max"}[f.Name]
	become := []string{other + m.fragment(e.Lparen, e.End())}
	for i := range e.Args {
		var left []string
		for j, a := range e.Args {
			if j != i {
				left = append(left, m.fragment(a.Pos(), a.End()))
			}
		}
		become = append(become, f.Name+"("+strings.Join(left, ", ")+")")
	}
	id := m.plant(e.Pos(), e.End(), become...)
	m.replace(f.Pos(), e.Lparen+1, fmt.Sprintf("mutant%s(%d, ", name, id))
}

// condition has the branch never taken, and always.
func (m *mutator) condition(e ast.Expr) {
	id := m.plant(e.Pos(), e.End(), "never", "always")
	m.wrap(e.Pos(), e.End(), fmt.Sprintf("mutantCond(%d, ", id), ")")
}

// cases has each case of a switch never taken.
func (m *mutator) cases(n *ast.SwitchStmt) {
	for _, s := range n.Body.List {
		c := s.(*ast.CaseClause)
		switch {
		case n.Tag == nil:
			for _, e := range c.List {
				m.condition(e)
			}
		case m.results && n == m.last: // the function would have no end
		case len(c.Body) > 0:
			m.insert(c.Colon+1, fmt.Sprintf(" if mutantIs(%d) { break };",
				m.plant(c.Pos(), c.Colon, "a case without a body")))
		}
	}
}

// loop has a loop end before it begins.
func (m *mutator) loop(body *ast.BlockStmt) {
	m.insert(body.Lbrace+1, fmt.Sprintf(" if mutantIs(%d) { break };",
		m.plant(m.lineOf(body.Lbrace), body.Lbrace, "no loop")))
}

// lineOf is where the statement begins whose block begins at p.
func (m *mutator) lineOf(p token.Pos) token.Pos {
	at := m.fset.Position(p)
	return p - token.Pos(at.Column-1)
}

// skip leaves the only statement of a branch alone: to drop it is to never take the branch.
func (m *mutator) skip(body *ast.BlockStmt) { m.alone = body.List[0] }

// statements drops one statement after the other.
func (m *mutator) statements(list []ast.Stmt) {
	for _, s := range list {
		if s == m.alone {
			continue
		}
		switch s := s.(type) {
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok {
				if f, ok := c.Fun.(*ast.Ident); ok && f.Name == "panic" {
					continue
				}
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.IncDecStmt, *ast.BranchStmt:
		default:
			continue
		}
		m.wrap(s.Pos(), s.End(), fmt.Sprintf("if !mutantIs(%d) { ", m.plant(s.Pos(), s.End(), "dropped")), " }")
	}
}
