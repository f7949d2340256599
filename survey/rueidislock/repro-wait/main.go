// One locker, one Redis server: ../../with-redis.sh go run ./repro-wait
//
// Redis answers 100 ms late, once, while a locker takes a lock that nobody holds.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	option := rueidis.ClientOption{InitAddress: []string{os.Args[1]}}
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: option, KeyMajority: 1,
		NoLoopTracking: true})
	check(err)
	c, err := rueidis.NewClient(option)
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	_, release, err := l.WithContext(ctx, "k") // the scripts are known to the server from here on
	check(err)
	release()

	check(c.Do(ctx, c.B().ClientPause().Timeout(100).All().Build()).Error())
	_, _, err = l.WithContext(ctx, "k")
	if err != nil {
		n, err2 := c.Do(context.Background(), c.B().Exists().Key("rueidislock:0:k").Build()).AsInt64()
		check(err2)
		fmt.Printf("WithContext did not return within 15 s (%v), and %d clients hold the lock.\n", err, n)
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
