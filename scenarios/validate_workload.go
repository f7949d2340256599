package scenarios

// The workloads that ask for more than a client and a key.
const (
	payment  = "payment"
	transfer = "transfer"
	stampede = "stampede"
)

// orderTry is the order of a transfer that has a time for trying.
const orderTry = "try"

// workload checks what a kind of workload asks for, and that nothing is set that it would not look at.
func (v *validator) workload(at string, s *Scenario) {
	w := s.Workload
	switch {
	case (w.Kind == payment || w.Kind == stampede) && s.Clients < 2:
		v.fail(at+".clients", "workload %s needs at least 2 clients", w.Kind)
	case w.Kind == transfer && s.Keys < 2:
		v.fail(at+".keys", "workload transfer takes two keys at a time: there must be at least 2")
	}
	if w.Kind == transfer {
		v.oneOf(at+".workload.order", "order", w.Order, []string{"ordered", "unordered", orderTry})
	} else if w.Order != "" {
		v.fail(at+".workload.order", "order is for workload transfer, not for %s", w.Kind)
	}
	switch {
	case w.Order == orderTry && (w.TryFor <= 0 || w.TryFor > longest):
		v.fail(at+".workload.try_for", "order try needs try_for, longer than 0 and at most %v", longest)
	case w.Order != orderTry && w.TryFor != 0:
		v.fail(at+".workload.try_for", "try_for is for workload transfer with order try")
	}
}
