package exhaustive

import "slices"

// Events of one instant come in the order in which they were caused, and a fault before all of
// them. Which order they have may decide what comes of it. So the other orders are schedules, too:
// of the events that change something, by themselves and with each fault that is tried at the
// instant. What an event causes within its instant comes behind all that waited.

// mostTied bounds the events of an instant, a fault included, of which all orders are tried. Of
// more, each comes first once.
const mostTied = 4

// anotherOrder is the column of schedules without a fault.
const anotherOrder = "no fault, another order of an instant's events"

// ordersOf are the other orders of the events of an instant, by their numbers. A fault that strikes
// there is the first of them in the usual order; fixed: it stays that.
func ordersOf(instant []place, struck, fixed bool) (all [][]int) {
	var tied []int
	caused := false // something is caused within the instant
	for _, p := range instant {
		switch {
		case p.Event == 0:
			caused = true
		case struck:
			tied = append(tied, p.Event+1)
		default:
			tied = append(tied, p.Event)
		}
	}
	slices.Sort(tied)
	tied = slices.Compact(tied)
	if len(tied) == 0 || len(tied) == 1 && (!struck || !caused) {
		return nil
	}
	if struck {
		tied = slices.Insert(tied, 0, 1)
	}
	behind := append(slices.Clone(tied[1:]), tied[0]) // of a fault: equal to striking at the next place
	for _, order := range permutations(tied) {
		switch {
		case slices.Equal(order, tied), struck && fixed && order[0] != 1, struck && !caused && slices.Equal(order, behind):
		default:
			all = append(all, order)
		}
	}
	return all
}

// permutations are all orders of a few numbers, and of many those in which another one comes first.
func permutations(of []int) (all [][]int) {
	if len(of) <= 1 {
		return [][]int{of}
	}
	for i, first := range of {
		rest := slices.Delete(slices.Clone(of), i, i+1)
		if len(of) > mostTied {
			all = append(all, slices.Insert(rest, 0, first))
			continue
		}
		for _, p := range permutations(rest) {
			all = append(all, slices.Insert(slices.Clone(p), 0, first))
		}
	}
	return all
}

// reordered are the schedules that have no fault: the instants whose events can come in another
// order, each with each of these.
func reordered(places []place) (out []schedule) {
	for instant := range instantsOf(places) {
		for _, order := range ordersOf(instant, false, false) {
			first := slices.IndexFunc(instant, func(p place) bool { return p.Event == order[0] })
			p := instant[first]
			out = append(out, schedule{strike: strike{Column: anotherOrder, Host: p.Host}, Place: p, Last: p.At, Order: order})
		}
	}
	return out
}

// inOtherOrders are the schedule with the other orders of its instant's events. A fault that waits
// for a request stays before that.
func (s schedule) inOtherOrders(instant []place) (out []schedule) {
	for _, order := range ordersOf(instant, true, s.Fault.Request != "") {
		tied := s
		tied.Equal, tied.Order = 0, order
		out = append(out, tied)
	}
	return out
}
