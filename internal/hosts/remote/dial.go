package remote

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// A relay asks for a connection by a number of 8 bytes. The answer is the
// number, and either the socket beside it, or the reason why there is none.
const numberSize = 8

// maxAnswer bounds an answer.
const maxAnswer = 1024

// dialLimit bounds one connection to a node.
const dialLimit = 5 * time.Second

// mostDials bounds the connections to one node that are being made at the same time.
const mostDials = 64

// serve dials for one node's relay, until the relay is gone.
func serve(ctx context.Context, relay *net.UnixConn, n Node) {
	defer relay.Close()
	places := make(chan struct{}, mostDials)
	for {
		number := make([]byte, numberSize)
		got, _, _, _, err := relay.ReadMsgUnix(number, nil)
		if err != nil || got != numberSize {
			return
		}
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			answer(ctx, relay, number, n)
		}()
	}
}

// answer makes one connection and hands it over. What can't be written meets a relay that is gone.
func answer(ctx context.Context, relay *net.UnixConn, number []byte, n Node) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	refuse := func(err error) {
		text := append(number, fmt.Sprintf("%s: %v", n.Shown, err)...)
		_, _, _ = relay.WriteMsgUnix(text[:min(len(text), maxAnswer)], nil, nil)
	}
	conn, err := n.Dial(ctx)
	if err != nil {
		refuse(err)
		return
	}
	defer conn.Close() // the relay has its own
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		refuse(fmt.Errorf("a connection of %T can't be handed over", conn))
		return
	}
	f, err := tcp.File()
	if err != nil {
		refuse(err)
		return
	}
	defer f.Close()
	_, _, _ = relay.WriteMsgUnix(number, unix.UnixRights(int(f.Fd())), nil)
}

// numbered is an answer, taken apart.
type numbered struct {
	number uint64
	conn   *net.TCPConn // nil: there is none
	why    string
}

// read takes one answer.
func read(outer *net.UnixConn) (numbered, error) {
	text, rights := make([]byte, maxAnswer), make([]byte, unix.CmsgSpace(4))
	n, beside, _, _, err := outer.ReadMsgUnix(text, rights)
	if err != nil {
		return numbered{}, err
	}
	if n < numberSize {
		return numbered{}, fmt.Errorf("an answer of %d bytes", n)
	}
	a := numbered{number: binary.BigEndian.Uint64(text), why: string(text[numberSize:n])}
	if beside == 0 {
		return a, nil
	}
	if a.conn, err = handed(rights[:beside]); err != nil {
		a.why = err.Error()
	}
	return a, nil
}
