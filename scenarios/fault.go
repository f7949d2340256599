package scenarios

import "strings"

// combined is the label of a combination.
func (f *Fault) combined() string {
	switch {
	case len(f.Sequence) > 0:
		return f.joined(f.Sequence, "-then-")
	case len(f.Mix) > 0:
		return f.joined(f.Mix, "-or-")
	}
	var kinds []string
	for _, p := range f.Together {
		kinds = append(kinds, p.Kind)
	}
	return strings.Join(kinds, "-and-") + "-" + f.Target
}

// longestLabel is how many parts a label names one by one.
const longestLabel = 3

func (f *Fault) joined(parts []Fault, by string) string {
	var labels []string
	for i := range parts {
		if i == longestLabel {
			labels = append(labels, "more")
			break
		}
		p := parts[i].Within(*f)
		labels = append(labels, p.Label())
	}
	return strings.Join(labels, by)
}

// Parts are those of a combination; none of a single fault.
func (f *Fault) Parts() []Fault {
	switch {
	case len(f.Sequence) > 0:
		return f.Sequence
	case len(f.Together) > 0:
		return f.Together
	}
	return f.Mix
}

// Within is a part of a combination, with what the whole says where the part says nothing.
func (f Fault) Within(whole Fault) Fault {
	if f.Target == "" {
		f.Target = whole.Target
	}
	if f.When == "" {
		f.When = whole.When
	}
	if f.For == 0 {
		f.For = whole.For
	}
	return f
}

// Singles are the single faults that it is made of, each complete; itself, if it is one.
func (f Fault) Singles() (all []Fault) {
	parts := f.Parts()
	if len(parts) == 0 {
		return []Fault{f}
	}
	for _, p := range parts {
		all = append(all, p.Within(f).Singles()...)
	}
	return all
}

// Longest is how long the fault can last in one go: its parts together, where they come one after the other, the longest else.
func (f Fault) Longest() (d Duration) {
	parts := f.Parts()
	if len(parts) == 0 {
		return f.For
	}
	for _, p := range parts {
		if one := p.Within(f).Longest(); len(f.Sequence) > 0 {
			d += one
		} else {
			d = max(d, one)
		}
	}
	return d
}

// each changes the fault and all its parts.
func (f Fault) each(change func(Fault) Fault) Fault {
	f = change(f)
	for _, parts := range []*[]Fault{&f.Sequence, &f.Together, &f.Mix} {
		var changed []Fault
		for _, p := range *parts {
			changed = append(changed, p.each(change))
		}
		*parts = changed
	}
	return f
}
