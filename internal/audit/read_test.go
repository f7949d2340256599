package audit_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/audit/formats"
)

// judge judges a translated history, and holds the events to what every history keeps.
func judge(t testing.TB, s *audit.Source) checker.Verdict {
	t.Helper()
	j := checker.New(s.Header, s.Keys, checker.Options{})
	for {
		var e history.Event
		if err := s.Read(&e); errors.Is(err, io.EOF) {
			return j.Finish(false)
		} else if err != nil {
			t.Fatal(err)
		}
		j.Add(&e)
	}
}

// A byte-order mark, with which spreadsheets and some loggers begin a file, is no part of any log.
func TestByteOrderMarks(t *testing.T) {
	for format, text := range map[formats.Format]string{
		formats.CSV:       "time,client,event,key\n1700000000,a,granted,k\n",
		formats.JSON:      `{"time":1700000000,"client":"a","event":"granted","key":"k"}`,
		formats.Text:      "1700000000 a granted k\n",
		formats.Porcupine: `{"ClientId":1,"Input":{"op":"acquire"},"Call":10,"Output":{"ok":true},"Return":20}`,
		formats.Jepsen:    `{:type :invoke, :process 1, :f :acquire}`,
	} {
		o := audit.Options{}
		if format == formats.Text {
			o.Pattern = `(?P<time>\S+) (?P<client>\S+) (?P<event>\S+) (?P<key>\S+)`
		}
		if _, err := audit.Read(strings.NewReader("\ufeff"+text), "log", format, o); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}
