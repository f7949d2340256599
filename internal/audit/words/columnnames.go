package words

import (
	"slices"
	"strings"
)

// columnNames are names of columns, in the form that plain gives them. Those of
// the first list say what a column is; those of the second may also be of
// something else, and count where no first one is there.
type columnNames struct{ first, second []string }

// usualColumns are the columns that are taken for a field where the user does not say so.
var usualColumns = [FieldCount]columnNames{
	FieldTime: {[]string{"time", "ts", "timestamp", "datetime", "eventtime", "when", "at", "t", "loggedat", "timems",
		"tsms", "timestampms"},
		[]string{"start", "startedat", "starttime", "date", "createdat", "epochms"}},
	FieldEnd: {[]string{"end", "finishedat", "endedat", "endtime"}, nil},
	FieldClient: {[]string{"client", "pod", "worker", "owner", "holder", "who", "lockowner", "lockholder", "consumer",
		"replica"},
		[]string{"instance", "process", "actor", "host", "hostname", "node", "machine", "server", "thread", "session",
			"pid"}},
	FieldEvent: {[]string{"event", "action", "op", "operation", "what", "eventtype", "lockevent"},
		[]string{"type", "msg"}},
	FieldKey: {[]string{"key", "resource", "lock", "mutex", "lockkey", "lockresource", "semaphore"},
		[]string{"name", "object", "entity", "path", "topic", "queue", "job", "target"}},
	FieldToken: {[]string{"fence", "fencing", "fencingtoken", "fencetoken", "locktoken"},
		[]string{"token", "epoch", "revision", "generation", "term", "leaseepoch"}},
	fieldMode: {[]string{"mode", "lockmode", "accessmode", "sharemode", "shared", "isshared", "exclusive", "isexclusive"}, nil},
	fieldResult: {[]string{"result", "outcome", "ok", "success", "succeeded", "granted", "acquired", "obtained", "got",
		"gotlock", "lockacquired", "acquiredlock", "isacquired", "isgranted", "locked"},
		[]string{"status", "statuscode", "httpstatus"}},
	FieldError: {[]string{"error", "err", "exception", "failure", "failed", "errormessage", "errormsg", "errmsg",
		"errorcode", "errcode", "errno", "exceptionmessage", "exitcode", "exitstatus", "returncode", "rc", "denied",
		"timedout"}, nil},
}

// unspoken are columns that say nothing of locks, and that most loggers write. notKeys are those,
// and others that are never a lock's key.
var (
	unspoken = []string{"level", "severity", "logger", "caller", "file", "line", "version", "duration", "latency", "elapsed",
		"traceid", "spanid", "requestid", "stream", "pid", "thread"}
	notKeys = append([]string{"msg", "message", "note", "comment"}, unspoken...)
	// messages are columns of free text.
	messages = []string{"msg", "message", "note", "comment", "text", "log", "body", "event", "action", "detail", "details",
		"description", "info", "reason", "summary"}
)

// IsMessage reports whether a column holds free text, which may tell of a lock.
func IsMessage(column string) bool { return slices.Contains(messages, lastName(column)) }

// FieldMatch is which field a name stands for, and how surely: the smaller rank is the better one.
type FieldMatch struct {
	Field Field
	Rank  int
}

// second is the rank from which on a name may also be of something else.
const second = 100

// places are the usual columns by name.
var places = func() map[string]FieldMatch {
	all := map[string]FieldMatch{}
	for f, names := range usualColumns {
		for i, name := range names.first {
			all[name] = FieldMatch{Field(f), i}
		}
		for i, name := range names.second {
			all[name] = FieldMatch{Field(f), second + i}
		}
	}
	return all
}()

// FieldMatchOf says which field a column is by its name. In a path such as "kubernetes.pod_name"
// the last part counts too, and "pod.name" or "pod_id" is as good as "pod".
func FieldMatchOf(column string) (FieldMatch, bool) {
	parts := strings.Split(column, ".")
	last := Plain(parts[len(parts)-1])
	names := []string{Plain(column), last}
	if n := len(parts); n > 1 && (last == "name" || last == "id") {
		names = []string{Plain(column), Plain(parts[n-2])}
	}
	for _, name := range names {
		if p, ok := places[name]; ok {
			return p, true
		}
		for _, suffix := range [...]string{"name", "id"} {
			p, ok := places[strings.TrimSuffix(name, suffix)]
			if ok && len(name) > len(suffix)+2 && (p.Field == FieldClient || p.Field == FieldKey) {
				return p, true
			}
		}
	}
	return FieldMatch{}, false
}

// NamesTime reports whether the name of a column is a usual one for the time.
func NamesTime(column string) bool {
	p, ok := FieldMatchOf(column)
	return ok && p.Field == FieldTime
}

// lastName is the last part of a column's path, such as shared of lock.is_shared.
func lastName(column string) string {
	return strings.TrimPrefix(Plain(column[strings.LastIndexByte(column, '.')+1:]), "is")
}
