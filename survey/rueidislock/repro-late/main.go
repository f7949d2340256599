// Two lockers, the library's defaults, one Redis server: ../../with-redis.sh go run ./repro-late
//
// The first locker's packets are dropped while it holds the lock. The second locker
// takes the lock when its key expires. The first context should be canceled by then.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	link, cut := proxy(os.Args[1])
	first, _, err := locker(link).WithContext(context.Background(), "k")
	check(err)
	close(cut)
	second, _, err := locker(os.Args[1]).WithContext(context.Background(), "k")
	check(err)
	began := time.Now()
	for first.Err() == nil && second.Err() == nil && time.Since(began) < 20*time.Second {
		time.Sleep(time.Millisecond)
	}
	if both := time.Since(began); both > 100*time.Millisecond {
		fmt.Printf("Both contexts were alive for %v: the first locker's context outlived its key.\n",
			both.Round(time.Millisecond))
		os.Exit(1)
	}
}

func locker(address string) rueidislock.Locker {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{address}}, KeyMajority: 1, NoLoopTracking: true,
	})
	check(err)
	return l
}

// proxy forwards to the server until cut is closed. From then on it swallows every byte.
func proxy(server string) (address string, cut chan struct{}) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	cut = make(chan struct{})
	go func() {
		for {
			in, err := l.Accept()
			check(err)
			out, err := net.Dial("tcp", server)
			check(err)
			go io.Copy(out, &link{in, cut})
			go io.Copy(in, &link{out, cut})
		}
	}()
	return l.Addr().String(), cut
}

type link struct {
	net.Conn
	cut chan struct{}
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	select {
	case <-l.cut:
		select {} // dropped, and silent for ever
	default:
		return n, err
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
