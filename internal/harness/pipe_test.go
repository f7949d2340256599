package harness

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"
)

// echoes answers every line with a line of the size of a reply, and does nothing else.
func echoes([]string) int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if _, err := os.Stdout.WriteString(`{"id":123456,"result":"ok","start":123456789012345,"end":123456789013456}` + "\n"); err != nil {
			return 0
		}
	}
	return 0
}

type echo struct {
	in  io.Writer
	out *bufio.Reader
}

func startEcho(b *testing.B) *echo {
	b.Helper()
	cmd := exec.Command("/proc/self/exe", "echo")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // it ends with its input
	})
	return &echo{in, bufio.NewReader(out)}
}

func (e *echo) trip() error {
	if _, err := io.WriteString(e.in, `{"id":123456,"op":"held","key":"k0","grant":1,"timeout":60000000000}`+"\n"); err != nil {
		return err
	}
	_, err := e.out.ReadSlice('\n')
	return err
}
