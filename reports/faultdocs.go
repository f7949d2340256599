package reports

// faultPlaces says where docs/faults.md tells of each kind of fault.
var faultPlaces = map[string]string{
	"pause": "pause", "kill": "kill", "stall": "stall", "renewer-stall": "renewer-stall", "throttle": "throttle", "crash-restart": "crash-restart",
	"failover": "failover", "partition": "partition", "hold": "hold", "cut": "cut", "reset": "reset", "expire-session": "expire-session",
	"delay": "delay-loss-duplicate-reorder-rate", "loss": "delay-loss-duplicate-reorder-rate", "duplicate": "delay-loss-duplicate-reorder-rate",
	"reorder": "delay-loss-duplicate-reorder-rate", "rate": "delay-loss-duplicate-reorder-rate",
	"clock-jump": "clock-jump-clock-rate-clock-strobe", "clock-rate": "clock-jump-clock-rate-clock-strobe", "clock-strobe": "clock-jump-clock-rate-clock-strobe",
}

// faultDoc points at what the documentation says of a kind of fault; "" for one that it does not know.
func faultDoc(kind string) string {
	place, ok := faultPlaces[kind]
	if !ok {
		return ""
	}
	return onTheWeb + "faults.md#" + place
}
