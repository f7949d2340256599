package backends

import "strings"

// Lack is a program that this machine does not have, or something that a stand-in can't do in its
// place. It is known before anything runs.
type Lack struct {
	// Why says what is missing; Fix says what to do about it.
	Why, Fix string
}

// Error returns what is missing and what to do.
func (l *Lack) Error() string { return l.Why + ": " + l.Fix }

// Lack returns what is missing and what to do, for callers that don't import this package.
func (l *Lack) Lack() (why, fix string) { return l.Why, l.Fix }

// Startable returns nil if this machine can start the service. durable: its nodes must know
// all that they answered for when they are killed and started again. What is missing is
// told by a *Lack. Any other error is the user's, such as a variable that names no program.
// The recipe itself is asked, so this can't differ from what happens at the start.
func (k Kind) Startable(durable bool) error {
	return k.tasks(durable, func(Task) error { return nil })
}

// Refusable returns nil if the servers that would run here can be made to
// refuse writes. A stand-in can't be: that is a *Lack.
func (k Kind) Refusable() error {
	return k.tasks(false, func(t Task) error {
		if t.standIn != nil {
			return &Lack{"the stand-in refuses no writes", t.standIn.fix}
		}
		return nil
	})
}

// tasks looks at what the nodes would run on this machine, until there is an error.
func (k Kind) tasks(durable bool, look func(Task) error) error {
	p := Place{Listen: "127.0.0.1", Data: "/", Peers: map[string]string{}, Durable: durable}
	for _, n := range k.Nodes {
		p.Peers[n.Name] = p.Listen
	}
	for _, n := range k.Nodes {
		t, err := k.Task(n.Name, p)
		if err != nil {
			return err
		}
		if err := look(t); err != nil {
			return err
		}
	}
	return nil
}

// toHave stands before what to do to have the real server, in the sentences of StandIns.
const toHave = " To have that too: "

// RealInstead returns what to do to have the real server in the place of a
// stand-in. text is a sentence of StandIns. "" means that there is nothing to do.
func RealInstead(text string) string {
	_, fix, _ := strings.Cut(text, toHave)
	return strings.TrimSuffix(fix, ".")
}
