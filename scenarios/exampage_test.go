package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Covering are the attacks of the family at the step; why is the reason where there are none on purpose. With neither the pair was forgotten.
func (e Exam) Covering(family, step string) (attacks []string, why string) {
	for _, a := range e.Attacks {
		if a.Family == family && slices.Contains(a.Steps, step) {
			attacks = append(attacks, a.Name)
		}
	}
	for _, s := range e.Senseless {
		if slices.Contains(s.Steps, step) && (len(s.Families) == 0 || slices.Contains(s.Families, family)) {
			why = s.Why
		}
	}
	return attacks, why
}

// Markdown is the table of attacks for a page of the docs: what clients do, what is done to them, and which pairs of a step and a fault that covers.
func (e Exam) Markdown() string {
	return strings.Join([]string{e.applicationsPage(), e.attacksPage(), e.matrixPage()}, "\n")
}

func (e Exam) applicationsPage() string {
	var b strings.Builder
	b.WriteString("## Applications\n\n")
	for _, name := range slices.Sorted(maps.Keys(e.Applications)) {
		app := e.Applications[name]
		fmt.Fprintf(&b, "- `%s`: %s", name, app.About)
		for _, ability := range app.Asks {
			fmt.Fprintf(&b, " (not where %s)", strings.Replace(lacking[ability], "it ", "the lock ", 1))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (e Exam) attacksPage() string {
	var b strings.Builder
	b.WriteString("## Attacks\n\nEach is tried on real servers: the lock of the fourth column falls by it, as is said, and that of the fifth stands.\n\n" +
		"| attack | application | what is done | falls | stands | short |\n|---|---|---|---|---|---|\n")
	for _, a := range e.Attacks {
		short := ""
		if a.Short {
			short = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s | %s |\n", a.Name, a.Application, a.About, a.fallen(), code(a.Stands), short)
	}
	return b.String()
}

// fallen says which lock falls by the attack, and how.
func (a Attack) fallen() string {
	for lock, breaks := range a.Falls {
		return code(lock) + ": " + breaks
	}
	if a.Inherent != "" {
		return code(a.Inherent) + ", by no defect of its own"
	}
	return ""
}

func code(name string) string {
	if name == "" {
		return ""
	}
	return "`" + name + "`"
}

func (e Exam) matrixPage() string {
	var b strings.Builder
	b.WriteString("## Steps and faults\n\nWhich attacks strike a client at which step, or why none does.\n\nThe steps:\n\n")
	for _, s := range e.Steps {
		fmt.Fprintf(&b, "- %s: %s\n", s.Name, s.About)
	}
	b.WriteString("\n| fault | step | attacks |\n|---|---|---|\n")
	for _, f := range e.Families {
		about := f.Name + ": " + f.About
		for _, row := range e.rows(f.Name) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", about, strings.Join(row.steps, ", "), row.cell)
			about = ""
		}
	}
	return b.String()
}

// row is the cell that some steps have in common.
type row struct {
	steps []string
	cell  string
}

// rows are the cells of a family, each with all its steps.
func (e Exam) rows(family string) (all []row) {
	for _, s := range e.Steps {
		attacks, why := e.Covering(family, s.Name)
		cell := cmp.Or(why, "nothing")
		if len(attacks) > 0 {
			cell = "`" + strings.Join(attacks, "`, `") + "`"
		}
		i := slices.IndexFunc(all, func(r row) bool { return r.cell == cell })
		if i < 0 {
			i, all = len(all), append(all, row{cell: cell})
		}
		all[i].steps = append(all[i].steps, s.Name)
	}
	return all
}
