package checker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/history"
)

func faultEvents(l *line) []timed {
	f := history.FaultInfo{ID: int(l.op), Kind: l.client, Phase: "begin", Injected: l.client != "stall" &&
		!l.has("+own"), Links: l.client == "delay", Service: l.client == "service"}
	if l.client != "service" {
		f.Clients = []int32{clientNumber(l.verb)}
	}
	begin := f
	end := f
	end.Phase, end.From, end.To, end.Bit = "end", at(l.inv), at(l.ret), !l.has("+miss")
	if v, ok := l.opts["from"]; ok {
		end.From = at(number(v))
	}
	if v, ok := l.opts["to"]; ok {
		end.To = at(number(v))
	}
	if l.has("+bite") {
		end.Holding = 1
	}
	out := []timed{{history.Event{Type: history.Fault, Time: at(l.inv), Fault: &begin}, 1}}
	if !l.open {
		out = append(out, timed{history.Event{Type: history.Fault, Time: at(l.ret), Fault: &end}, 1})
	}
	return out
}

// anyFaultEvents are those of an injected fault of any kind.
func anyFaultEvents(l *line) []timed {
	f := history.FaultInfo{ID: int(l.op), Kind: l.verb, Phase: "begin", Injected: !l.has("+own"), Links: l.has("links"),
		Target: l.opts["target"], Kept: l.has("+kept"), Bit: true}
	if names, ok := l.opts["hosts"]; ok {
		f.Hosts = hostsOf(l, names)
	}
	victim := int32(0)
	place, who, stored := strings.Cut(l.opts["on"], ":")
	switch {
	case stored:
		victim, f.Store, f.Links = clientNumber(who), true, !l.has("frozen")
	case place == "service":
		f.Service = true
	case l.has("aside"):
		victim = clientNumber(place)
	default:
		victim, f.Clients = clientNumber(place), []int32{clientNumber(place)}
	}
	end := f
	end.Phase, end.From, end.To = "end", at(l.inv), at(l.ret)
	return []timed{{history.Event{Type: history.Fault, Time: at(l.inv), Client: victim, Fault: &f}, 1},
		{history.Event{Type: history.Fault, Time: at(l.ret), Client: victim, Fault: &end}, 1}}
}

// hostsOf are the hosts that a fault struck: those that are named
// ("redis-1+redis-2"), or so many that no other line struck.
func hostsOf(l *line, names string) []string {
	n, err := strconv.Atoi(names)
	if err != nil {
		return strings.Split(names, "+")
	}
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host-%d-%d", l.op, i)
	}
	return hosts
}
