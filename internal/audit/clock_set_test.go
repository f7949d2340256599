package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// TestZonesAreAsked: a zone that is not known is asked for, with the line,
// whatever the zone of the reader is.
func TestZonesAreAsked(t *testing.T) {
	mine := time.Local
	defer func() { time.Local = mine }()
	moscow, err := time.LoadLocation("Europe/Moscow")
	if err != nil {
		t.Fatal(err)
	}
	for _, time.Local = range []*time.Location{time.UTC, moscow} {
		for name, c := range map[string]struct {
			log     string
			options audit.Options
			want    string
		}{
			"a name": {"2026-07-26 15:00:45 UTC,a,lock\n2026-07-26 18:00:45 MSK,b,lock\n", audit.Options{},
				"h:3:1: the zone MSK is not known here: say its offset, such as --zone MSK=+01:00"},
			"a layout's name": {"2026-07-26 18:00:45 MSK,a,lock\n",
				audit.Options{TimeFormat: "2006-01-02 15:04:05 MST"}, "h:2:1: the zone MSK"},
			"none behind one": {"2026-03-02T08:00:30Z,a,lock\n2026-03-02 10:00:00,b,lock\n", audit.Options{},
				"h:3: this time has no zone, and that of line 2 has one: say of which zone it is with --timezone"},
			"one behind none": {"2026-03-02 10:00:00,b,lock\n2026-03-02T08:00:30Z,a,lock\n", audit.Options{},
				"h:3: this time has a zone, and that of line 2 has none"},
			"a number and none": {"1772438400.5,b,lock\n2026-03-02 10:00:00,a,lock\n", audit.Options{}, "h:3: this time has no zone"},
			"no zone by name": {"2026-03-02 10:00:00,b,lock\n", audit.Options{Timezone: "Mars/Base"},
				`the time zone "Mars/Base" is not known`},
			"the reader's zone": {"2026-03-02 10:00:00,b,lock\n", audit.Options{Timezone: "Local"}, `the time zone "Local" is not known`},
			"no offset": {"2026-03-02 10:00:00,b,lock\n", audit.Options{Zones: map[string]string{"CET": "1"}},
				"the zone CET=1: want an offset from UTC"},
			"no date": {"10:00:00,b,lock\n", audit.Options{},
				"h:2:1: a time without its date or year: say when the log begins with --date"},
			"no such day":         {"Feb 29 10:00:00,b,lock\n", audit.Options{Date: "2026-01-01"}, "h:2:1: 2026 has no 29 February"},
			"a date that is none": {"10:00:00,b,lock\n", audit.Options{Date: "26.11.2026"}, `the date "26.11.2026"`},
		} {
			_, err := audit.Read(strings.NewReader("ts,pod,event\n"+c.log), "h", formats.CSV, c.options)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %v\nwant %s…", name, err, c.want)
			}
		}
	}
}

// TestTimesOfAllKinds: times are known by themselves, as other tools write
// them. b was granted the lock a second before a gave it up.
func TestTimesOfAllKinds(t *testing.T) {
	for _, times := range [][4]string{
		{"2026-07-02T09:56:06.847+0200", "2026-07-02T07:56:07.847Z", "2026-07-02T09:56:08.847+0200", "2026-07-02T09:56:09.847+02"},
		{"2026-07-02 09:56:06 UTC", "2026-07-02 09:56:07 UTC", "2026-07-02 09:56:08 UTC", "2026-07-02 09:56:09 UTC"},
		{"2026-07-02 09:56:06.847 +0200 CEST", "2026-07-02 09:56:07.847 +0200 CEST",
			"2026-07-02 09:56:08.847 +0200 CEST", "2026-07-02 09:56:09.847 +0200 CEST"},
		{"1.7830150e9", "1.783015001e9", "1.783015002E+09", "1783015003"},
		{"Thu Jul  2 09:56:06 2026", "Thu Jul  2 09:56:07 2026", "Thu Jul  2 09:56:08 2026", "Thu Jul  2 09:56:09 2026"},
		{"Thu, 02 Jul 2026 09:56:06 GMT", "Thu, 02 Jul 2026 09:56:07 GMT", "Thu, 02 Jul 2026 11:56:08 +0200",
			"Thu, 02 Jul 2026 09:56:09 GMT"},
		{"2026-07-02 09:56:06,847", "2026-07-02 09:56:07,847", "2026-07-02 09:56:08.847", "2026-07-02T09:56:09.847"},
		{"7/14/26 11:59:58 AM UTC", "7/14/26 11:59:59 AM UTC", "7/14/26 12:00:00 PM UTC", "7/14/26 12:00:01 PM UTC"},
		{"23:59:58.5", "23:59:59.5", "00:00:00.5", "00:00:01.5"},
		{"Dec 31 23:59:58", "Dec 31 23:59:59", "Jan  1 00:00:00", "Jan  1 00:00:01"},
		{"1231 23:59:58.000001", "1231 23:59:59.000001", "0101 00:00:00.000001", "0101 00:00:01.000001"},
	} {
		log := "ts;pod;event\n" + times[0] + ";a;acquired\n" + times[1] + ";b;acquired\n" + times[2] + ";a;released\n" +
			times[3] + ";b;released\n"
		v, s := judgeText(t, log, "a.csv", formats.CSV, audit.Options{Date: "2026-12-31"})
		if v.Outcome != checker.Violated || s.Header.Duration > int64(4*time.Second) {
			t.Errorf("%q: %s, %s long\n%s", times, v.Outcome, time.Duration(s.Header.Duration), said(s, v))
		}
	}
}

// TestClocksSetBack: where local time goes back by an hour, the order of the
// lines counts; elsewhere the answer says so.
func TestClocksSetBack(t *testing.T) {
	day := func(date string, zone string) string {
		return strings.NewReplacer("DATE", date, "ZONE",
			zone).Replace("ts,pod,event\nDATE 02:20:00ZONE,a,lock\nDATE 02:40:00ZONE,a,unlock\nDATE 02:55:00ZONE,b,lock\nDATE 02:25:00ZONE,b,unlock\nDATE 02:50:00ZONE,a,lock\nDATE 03:10:00ZONE,a,unlock\n")
	}
	const set, odd = "The clock was set back by an hour before line 5", "Line 5 is 30m0s earlier than the line before"
	for name, c := range map[string]struct {
		log      string
		timezone string
		want     checker.Outcome
		says     string
	}{
		"the last Sunday of October": {day("2026-10-25", ""), "", checker.Pass, set},
		"by the zone":                {day("2026-10-25", ""), "Europe/Berlin", checker.Pass, set},
		"no such night in that zone": {day("2026-10-25", ""), "America/New_York", checker.Violated, odd},
		"a Wednesday":                {day("2026-10-28", ""), "", checker.Violated, odd},
		"times with their zone":      {day("2026-10-25", "Z"), "", checker.Violated, ""},
		"twice": {day("2026-10-25", "") +
			"2026-10-25 02:30:00,b,lock\n2026-10-25 02:35:00,b,unlock\n", "", checker.Inconclusive, "Line 8: times go back once more"},
	} {
		v, s := judgeText(t, c.log, "a.csv", formats.CSV, audit.Options{Timezone: c.timezone})
		if text := said(s, v) + strings.Join(s.Assumed, "\n") + strings.Join(s.Left, "\n"); v.Outcome != c.want ||
			!strings.Contains(text, c.says) {
			t.Errorf("%s: %s, want %s with %q\n%s", name, v.Outcome, c.want, c.says, text)
		}
	}
}
