package scenarios

import (
	"strconv"
	"strings"
)

// combined is the label of a combination: its kinds and, if it has one for all,
// its target; of a mix how many there are.
func (f *Fault) combined() string {
	by, parts := "-then-", f.Sequence
	switch {
	case len(f.Mix) > 0:
		return "mix-of-" + strconv.Itoa(len(f.Mix))
	case len(f.Together) > 0:
		by, parts = "-and-", f.Together
	}
	var labels []string
	for i := range parts {
		label := parts[i].Kind
		if label == "" {
			label = parts[i].combined()
		}
		labels = append(labels, label)
	}
	label := strings.Join(labels, by)
	if f.Target != "" {
		label += "-" + f.Target
	}
	return label
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

// Within is a part of a combination, with what the whole says where the part
// says nothing. What is over at once takes no length from it.
func (f Fault) Within(whole Fault) Fault {
	if f.Target == "" {
		f.Target = whole.Target
	}
	if f.When == "" {
		f.When = whole.When
	}
	if f.For == 0 && !f.momentary() {
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

// Longest is how long the fault can last in one go: its parts together, where
// they come one after the other, the longest else.
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
