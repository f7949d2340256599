package reports

import (
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports/phrase"
)

// Mended is what a lock comes to without the first defect that its exam has shown. Attacks
// that fell are made again on an application that avoids the step in which it lives.
type Mended struct {
	// Defect is a property, or a kind of double-holds.
	Defect string `json:"defect"`
	// Fell counts the attacks that fell by a defect. Attacks were made again.
	Fell    int      `json:"fell"`
	Attacks []string `json:"attacks,omitempty"`
	// Avoids says what the application does, as in "an application that never
	// gives up a wait"; "": no application avoids the defect.
	Avoids  string        `json:"avoids,omitempty"`
	Outcome MendedOutcome `json:"outcome"`
	// Still are defects that show without the first one. Gone are those that
	// showed beside it, and do not show without it.
	Still []string `json:"still,omitempty"`
	Gone  []string `json:"gone,omitempty"`
	// Met counts attacks in which the application met the first defect all the same.
	Met int `json:"met,omitempty"`
	// Why says why the outcome is not known; "": it is.
	Why string `json:"why,omitempty"`
	// Dir is the folder of the attacks that were made again, inside that of the exam; "": none was.
	Dir string `json:"dir,omitempty"`
}

// MendedOutcome is what a lock comes to without a defect. The zero value is no outcome.
type MendedOutcome string

// The outcomes.
const (
	MendedStands  MendedOutcome = "stands"
	MendedFalls   MendedOutcome = "falls still"
	MendedUnknown MendedOutcome = "not known"
)

// FirstHiding returns the first defect of ExamDefects that may hide others, as
// a property or a kind of double-holds; "": there is none.
func (s Suite) FirstHiding() string {
	for _, words := range s.ExamDefects() {
		all := s.ShownBy(words)[0].Own()
		name := all[slices.IndexFunc(all, func(d Defect) bool { return d.Words() == words })].Name
		if !slices.Contains(turnOrder[:], name) {
			return name
		}
	}
	return ""
}

// Unknown notes why it is not known what the lock comes to.
func (m *Mended) Unknown(why string) { m.Outcome, m.Why = MendedUnknown, why }

// Judge notes what attacks came to on an application that avoids the first
// defect. before are those that fell by a defect.
func (m *Mended) Judge(again, before []Scenario) {
	m.Still, m.Gone, m.Met = nil, nil, 0
	var stood []string
	unclear := 0
	for _, x := range again {
		switch own, fate := x.OwnDefects(), x.Fate(); {
		case slices.Contains(own, m.Defect):
			m.Met++ // it may hide what shows beside it
		case len(own) > 0:
			m.Still = appendNew(m.Still, own...)
		case fate == FellUnclear:
			unclear++
		case fate == Stood || fate == FellInherent || fate == FellRelied:
			stood = append(stood, x.Fault)
		}
	}
	chance := m.noteGone(stood, before)
	switch who := "an application that " + m.Avoids; {
	case len(m.Still) > 0:
		m.Outcome = MendedFalls
	case m.Met > 0:
		m.Unknown(who + " meets it, too")
	case unclear > 0:
		m.Unknown(who + " met a violation of which it is not clear whose affair it is")
	case chance:
		m.Unknown("an attack that showed another defect without it did not show that again")
	case len(stood) == 0:
		m.Unknown("nothing followed from " + who)
	default:
		m.Outcome = MendedStands
	}
}

// noteGone notes the defects that showed beside the first one in attacks that the lock stood when
// they were made again. It reports whether one of these attacks had shown another defect without
// the first one: that it did not show again may be chance. What comes of the first one is no other.
func (m *Mended) noteGone(stood []string, before []Scenario) (chance bool) {
	first := Defect{Name: m.Defect}
	for _, x := range before {
		if !slices.Contains(stood, x.Fault) {
			continue
		}
		alone := !slices.Contains(x.OwnDefects(), m.Defect)
		for _, d := range x.Own() {
			comes := first.rank() < d.rank() && d.property() == checker.MutualExclusion
			chance = chance || alone && !comes
			if !alone && d.Name != m.Defect && !slices.Contains(m.Still, d.Name) {
				m.Gone = appendNew(m.Gone, d.Name)
			}
		}
	}
	return chance
}

// appendNew appends those that are not there yet.
func appendNew(all []string, more ...string) []string {
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// String is of the form "without that defect: stands (3 of 12 fallen attacks made
// again on an application that never gives up a wait)".
func (m *Mended) String() string {
	text := "without that defect: " + string(m.Outcome)
	switch m.Outcome {
	case MendedUnknown:
		return text + ", since " + m.Why
	case MendedFalls:
		text += ": " + strings.Join(m.stillWords(), "; ")
	}
	text += " (" + MadeAgain(len(m.Attacks), m.Fell) + " made again on an application that " + m.Avoids
	if m.Met > 0 {
		text += "; " + phrase.Grouped(m.Met) + " met the first defect all the same"
	}
	return text + ")"
}

// MadeAgain counts attacks that are made again, of those that fell: "2 of 5 fallen attacks".
func MadeAgain(made, fell int) string {
	text := phrase.Plural(fell, "fallen attack")
	if made < fell {
		text = phrase.Grouped(made) + " of " + text
	}
	return text
}

// stillWords are the defects of Still in words.
func (m *Mended) stillWords() (words []string) {
	for _, d := range m.Still {
		words = append(words, DefectWords(d))
	}
	return words
}

// Behind says, as the end of a sentence, what is known of a defect that no
// attack has shown without the first one; "": all is said.
func (m *Mended) Behind(words string) string {
	is := func(name string) bool { return DefectWords(name) == words }
	switch {
	case m != nil && slices.ContainsFunc(m.Still, is):
		return ""
	case m != nil && slices.ContainsFunc(m.Gone, is):
		return "; it does not show without the first defect"
	}
	return "; it is not known whether it shows without the first defect"
}
