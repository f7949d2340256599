//go:build linux

package shell

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
)

// TestCheck: wrong commands say what to do.
func TestCheck(t *testing.T) {
	for want, c := range map[string]Commands{
		"--acquire is missing":                                                 {Release: "true"},
		"--renew is for a grant that lasts until --release":                    {Acquire: "true", Renew: "true"},
		"--release is no command that /bin/sh understands":                     {Acquire: "true", Release: "echo 'x"},
		"--declare is no JSON object":                                          {Acquire: "true", Declare: "fair"},
		`has the unknown member "fiar"`:                                        {Acquire: "true", Declare: `{"fiar":true}`},
		`"validity" is "for ever"`:                                             {Acquire: "true", Declare: `{"validity":"for ever"}`},
		`--declare promises "held", and there is no command for it: give`:      {Acquire: "true", Release: "true", Declare: `{"confirms":["held"]}`},
		`--declare has "validity":"library", for which commands have no words`: {Acquire: "true", Declare: `{"validity":"library"}`},
		`--declare has "multi_key"`:                                            {Acquire: "true", Declare: `{"multi_key":2}`},
		`has the unknown member "confirms"`:                                    {Acquire: "true", Declare: `{"event":"lost","key":"k"}`},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	for _, c := range []Commands{folders, flocked} {
		if err := c.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestSays: what the commands promise, by themselves and as they are told to.
func TestSays(t *testing.T) {
	declare := `{"name":"mine 1","confirms":[],"lease_ms":1700,"no_expiry":true,"token":"fencing","permits":2}`
	for _, c := range []struct {
		commands Commands
		want     adapter.Declaration
	}{
		{folders, adapter.Declaration{Name: "shell commands", Validity: "from_invocation", Token: "none",
			Confirms: []string{"release", "renew", "held"}, Permits: 1}},
		{flocked, adapter.Declaration{Name: "shell command", Validity: "session", Token: "none",
			Confirms: []string{}, Can: []string{"held"}, Permits: 1}},
		{Commands{Acquire: "true", Release: "true", Held: "true", Declare: declare}, adapter.Declaration{Name: "mine 1",
			Validity: "from_invocation", Token: "fencing", Confirms: []string{}, Can: []string{"held"},
			Lease: 1700 * time.Millisecond, Permits: 2, NoExpiry: true}},
	} {
		if says, err := c.commands.Says(); err != nil || !reflect.DeepEqual(says, c.want) {
			t.Errorf("%+v: %+v, %v\nwant %+v", c.commands, says, err, c.want)
		}
	}
}

// TestChange: each command is changed, and the words of a command line are those that gave it.
func TestChange(t *testing.T) {
	c := Commands{Acquire: "a", Held: "h", Declare: "{}"}
	err := c.Change(func(line string) (string, error) { return strings.ToUpper(line), nil })
	if want := []string{"--acquire", "A", "--held", "H", "--declare", "{}"}; err != nil || !slices.Equal(c.Words(), want) {
		t.Errorf("%q, %v", c.Words(), err)
	}
	err = c.Change(func(string) (string, error) { return "", errors.New("a password") })
	if err == nil || err.Error() != "--acquire: a password" {
		t.Error(err)
	}
}
