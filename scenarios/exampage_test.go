package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// covering returns the attacks of the family at the step, and the reason where there are none on
// purpose. With neither the pair was forgotten.
func (e Exam) covering(family, step string) (attacks []string, why string) {
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

// examPage lists the attacks below examMark in docs/exam.md: the applications, the steps of a
// client, and for each family of faults its attacks, and its attacks by step.
type examPage struct {
	Exam
	strings.Builder
}

func (p *examPage) render() string {
	p.applications()
	p.steps()
	p.WriteString("## Attacks\n\n")
	p.para("Each attack is tried on real servers, on a lock that falls and on one that stands. *Short* are those of `--short`. " +
		"A second list says which attacks strike a client at which step, or why none does.")
	p.family(Named{Name: "nothing", About: "nothing is disturbed"})
	for _, f := range p.Families {
		p.family(f)
	}
	return strings.TrimRight(p.String(), "\n") + "\n"
}

func (p *examPage) applications() {
	p.WriteString("## Applications\n\n")
	for _, name := range slices.Sorted(maps.Keys(p.Applications)) {
		app := p.Applications[name]
		text := fmt.Sprintf("`%s`: %s.", name, app.About)
		for _, ability := range app.Asks {
			text += " Left out where " + strings.NewReplacer("it ", "the lock ", "its grants are",
				"the lock's grants are").Replace(lacking[ability]) + "."
		}
		p.item(text)
	}
}

func (p *examPage) steps() {
	p.WriteString("\n## Steps\n\nThe steps of a client, in the order in which it passes them:\n\n")
	for _, s := range p.Steps {
		p.item(s.Name + ": " + s.About)
	}
	p.WriteString("\n")
	for _, s := range p.Senseless {
		if len(s.Families) == 0 {
			p.para("No attack is aimed at " + strings.Join(s.Steps, ", ") + ": " + s.Why + ".")
		}
	}
}

func (p *examPage) family(f Named) {
	p.WriteString("### " + f.Name + "\n\n")
	p.para("The fault: " + f.About + ".")
	for _, a := range p.Attacks {
		if cmp.Or(a.Family, "nothing") == f.Name {
			p.item(a.entry())
		}
	}
	p.WriteString("\n")
	if rows := p.rows(f.Name); len(rows) > 0 {
		p.WriteString("By step:\n\n")
		for _, r := range rows {
			p.item(strings.Join(r.steps, ", ") + ": " + r.cell)
		}
		p.WriteString("\n")
	}
}

// entry describes the attack, and names the locks on which it is tried.
func (a Attack) entry() string {
	text := fmt.Sprintf("`%s` (application `%s`", a.Name, a.Application)
	if a.Short {
		text += "; short"
	}
	text += "): " + a.About + "."
	if a.Outside != "" {
		text += " Where the servers are not lockchaos's own, from the " + a.Outside + " alone."
	}
	for lock, breaks := range a.Falls {
		text += fmt.Sprintf(" Falls: `%s` (%s).", lock, breaks)
	}
	if a.Inherent != "" {
		text += fmt.Sprintf(" Falls: `%s`, without a defect of its own.", a.Inherent)
	}
	if a.Stands != "" {
		text += fmt.Sprintf(" Stands: `%s`.", a.Stands)
	}
	return text
}

// row is the cell that some steps have in common.
type row struct {
	steps []string
	cell  string
}

// rows are the cells of a family, each with all its steps. Reasons that hold for every family are
// told once, beside the steps.
func (p *examPage) rows(family string) (all []row) {
	for _, s := range p.Steps {
		attacks, why := p.covering(family, s.Name)
		cell := why
		if len(attacks) > 0 {
			cell = "`" + strings.Join(attacks, "`, `") + "`"
		}
		if cell == "" || slices.ContainsFunc(p.Senseless, func(s Senseless) bool { return len(s.Families) == 0 && s.Why == cell }) {
			continue
		}
		i := slices.IndexFunc(all, func(r row) bool { return r.cell == cell })
		if i < 0 {
			i, all = len(all), append(all, row{cell: cell})
		}
		all[i].steps = append(all[i].steps, s.Name)
	}
	return all
}

func (p *examPage) item(text string) { p.fill("- ", "  ", text) }

func (p *examPage) para(text string) {
	p.fill("", "", text)
	p.WriteString("\n")
}

// fill writes the text in lines of at most 100 columns.
func (p *examPage) fill(first, rest, text string) {
	line := first
	for i, word := range strings.Fields(text) {
		if i > 0 && len([]rune(line))+1+len([]rune(word)) > 100 {
			p.WriteString(line + "\n")
			line = rest + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	p.WriteString(line + "\n")
}
