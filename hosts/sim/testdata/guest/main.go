// A program of the tests of package sim: each mode does one thing.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"time"
)

var kept [][]byte

func main() {
	switch os.Args[1] {
	case "loop":
		for n := 0; ; n++ {
			if n < 0 {
				fmt.Println(n)
			}
		}
	case "spin":
		for !time.Now().IsZero() {
		}
	case "memory":
		for {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			kept = append(kept, b)
		}
	case "files":
		_, err := os.ReadFile("/etc/passwd")
		fmt.Println("read:", err != nil)
		fmt.Println("write:", os.WriteFile("/tmp/escaped", nil, 0o644) != nil)
		_, err = os.ReadDir("/")
		fmt.Println("list:", err != nil)
		_, err = net.Listen("tcp", "0.0.0.0:6379")
		fmt.Println("listen:", err)
	case "ask":
		ask(os.Args[2])
	case "clock":
		began := time.Now()
		time.Sleep(time.Hour)
		fmt.Println(time.Since(began).Round(time.Second), began.UTC().Format(time.DateOnly))
	case "echo":
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println("heard", lines.Text())
		}
	}
}

// ask sends PING and prints what comes back, or how it failed.
func ask(addr string) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		fmt.Println("dial:", err)
		return
	}
	for range 2 {
		fmt.Fprintf(c, "*1\r\n$4\r\nPING\r\n")
		c.SetReadDeadline(time.Now().Add(3 * time.Second))
		began := time.Now()
		line, err := bufio.NewReader(c).ReadString('\n')
		fmt.Printf("%q %v %v\n", line, err, time.Since(began) > 100*time.Millisecond)
	}
}
