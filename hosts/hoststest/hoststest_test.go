package hoststest

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/hosts"
)

// The verbs of this test binary.
var verbs = map[string]func(args []string) int{
	"say": func(args []string) int { fmt.Println(strings.Join(args, " ")); return 7 },
}

func TestMain(m *testing.M) { Main(m, verbs) }

func TestRunsInside(t *testing.T) {
	if !hosts.Inside() {
		t.Fatal("not inside a sandbox")
	}
	if os.Getppid() != 1 {
		t.Errorf("parent is %d, want init", os.Getppid())
	}
}

func TestNetworkIsReady(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, hs := Network(t, "a", "b")
	l, err := hs[1].Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := hs[0].Dial(ctx, "tcp", netip.MustParseAddrPort(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, _, _ := strings.Cut(conn.LocalAddr().String(), ":"); got != hs[0].Addr.String() {
		t.Errorf("connected from %s, want %s", got, hs[0].Addr)
	}
}

func TestVerb(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, hs := Network(t, "a")
	var out strings.Builder
	cmd := exec.Command("/proc/self/exe", "say", "hello", "there")
	cmd.Stdout = &out
	p, err := hs[0].Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Wait(ctx)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("ended with %v, want exit status 7", err)
	}
	if got := out.String(); got != "hello there\n" {
		t.Errorf("said %q", got)
	}
}
