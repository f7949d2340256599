package history

import "strings"

// Histories of format 1 name a fault, and do not say what it does. This table
// says it for the faults of that time.

// KindMachineStall is the kind of what the machine did by itself.
const KindMachineStall = "stall"

// MachineStall is what that does.
var MachineStall = Touch{Stops: StopsProcesses, Words: FaultWords{Did: "stalled",
	Plight: "was starved by this machine", Doc: "stall"}}

// Touches is what the fault does: as it was recorded or, in a history of format 1, by its name.
func (f *FaultInfo) Touches() *Touch {
	switch {
	case f.Touch != nil:
		return f.Touch
	case !f.Injected && f.Kind == KindMachineStall:
		return &MachineStall
	}
	t := format1[f.Kind]
	if strings.HasPrefix(f.Kind, "clock-") {
		t.Clock = "unknown" // which one, the history does not tell
	}
	return &t
}

// Section is the section of docs/faults.md that tells of the fault.
func (f *PlannedFault) Section() string {
	if f.Doc != "" {
		return f.Doc
	}
	return format1[f.Kind].Words.Doc
}

var format1 = map[string]Touch{
	"pause": {Stops: StopsProcesses, Words: FaultWords{Did: "frozen",
		Client: "is frozen, as by a stop-the-world collection", Nodes: "is frozen, as a suspended machine is",
		Over: "wakes up", Plight: "was frozen", Doc: "pause"}},
	"kill": {Ends: EndsProcess, Words: FaultWords{Did: "killed", Client: "is killed",
		Nodes: "is killed", Doc: "kill"}},
	"throttle": {Stops: StopsShare, Words: FaultWords{Did: "throttled",
		Client: "gets only a share of its processor time", Nodes: "gets only a share of its processor time",
		Plight: "got only a share of its processor time", Doc: "throttle"}},
	"failover": {Ends: EndsPrimary, Words: FaultWords{Did: "failed over", Bar: "failover",
		Nodes: "is killed before its replica has everything, and the replica takes over", Doc: "failover"}},
	"stall": {Stops: StopsApplication, Words: FaultWords{Did: "stalled",
		Client: "stops working while its lock goes on renewing", Plight: "was starved by this machine",
		Doc: "stall"}},
	"renewer-stall": {Stops: StopsRenewals, Words: FaultWords{Did: "not renewing", Bar: "starved",
		Client: "goes on working while its lock's renewal stands still", Over: "renews again",
		Plight: "could not renew its lease", Doc: "renewer-stall"}},
	"crash-restart": {Ends: EndsServer, Words: FaultWords{Did: "crashed", Client: "crashes",
		Nodes: "crashes, to be started again", Over: "answers again", Doc: "crash-restart"}},
	"partition": {Severs: true, Words: FaultWords{Did: "cut off", Links: "are dropped",
		Over: "is reached again", Plight: "was cut off from the lock service", Doc: "partition"}},
	"clock-jump": {Words: FaultWords{Did: "off by a clock jump", Bar: "skewed",
		Client: "reads a clock that jumps", Nodes: "reads a clock that jumps",
		Over: "reads a clock that runs right again", Plight: "read a clock that had jumped",
		Doc: "clock-jump-clock-rate-clock-strobe"}},
	"clock-rate": {Words: FaultWords{Did: "off by a clock's rate", Bar: "skewed",
		Client: "reads a clock that runs wrong", Nodes: "reads a clock that runs wrong",
		Over: "reads a clock that runs right again", Plight: "read a clock that ran wrong",
		Doc: "clock-jump-clock-rate-clock-strobe"}},
	"clock-strobe": {Strobes: true, Words: FaultWords{Did: "off by a clock's strobe", Bar: "skewed",
		Client: "reads a clock that jumps to and fro", Nodes: "reads a clock that jumps to and fro",
		Over: "reads a clock that runs right again", Plight: "read a clock that jumped to and fro",
		Doc: "clock-jump-clock-rate-clock-strobe"}},
	"delay": {Words: FaultWords{Did: "delayed", Links: "are delayed", Over: "is reached at once again",
		Doc: "delay-loss-duplicate-reorder-rate"}},
	"loss": {Words: FaultWords{Did: "on a lossy link", Bar: "lossy", Links: "are lost now and then",
		Over: "loses no packets any more", Doc: "delay-loss-duplicate-reorder-rate"}},
	"duplicate": {Words: FaultWords{Did: "sent duplicates", Bar: "doubled", Links: "arrive twice",
		Over: "gets each packet once again", Doc: "delay-loss-duplicate-reorder-rate"}},
	"reorder": {Words: FaultWords{Did: "sent packets out of order", Bar: "reordered",
		Links: "arrive out of order", Over: "gets its packets in order again",
		Doc: "delay-loss-duplicate-reorder-rate"}},
	"rate": {Words: FaultWords{Did: "on a slow link", Bar: "slowed",
		Links: "get only so much bandwidth", Over: "has all its bandwidth again",
		Doc: "delay-loss-duplicate-reorder-rate"}},
	"hold": {Words: FaultWords{Did: "held up", Links: "are held back", Over: "gets what was held back",
		Doc: "hold"}},
	"cut": {Ends: EndsConnection, Words: FaultWords{Did: "cut short", Links: "are cut at one request",
		Doc: "cut"}},
	"reset": {Ends: EndsConnection, Sudden: true, Words: FaultWords{Did: "reset",
		Links: "are cut short: their connections are reset", Plight: "lost its connection", Doc: "reset"}},
	"expire-session": {Ends: EndsSession, Sudden: true, Words: FaultWords{Did: "deprived of its session",
		Bar: "expired", Client: "loses its session, which the lock service is made to end",
		Plight: "lost its session", Doc: "expire-session"}},
}
