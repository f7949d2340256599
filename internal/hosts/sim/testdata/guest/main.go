// A program of the tests of package sim: each mode does one thing.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
	"unsafe"
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
	case "allocate":
		for n := 0; ; n++ {
			kept = [][]byte{make([]byte, 1<<12)}
			if n < 0 {
				fmt.Println(n)
			}
		}
	case "print":
		for line := bytes.Repeat([]byte("x"), 1<<16); ; {
			line[len(line)-1] = '\n'
			os.Stderr.Write(line)
		}
	case "line":
		for text := bytes.Repeat([]byte("x"), 1<<16); ; {
			os.Stdout.Write(text)
		}
	case "vectors":
		vectors()
	case "random":
		fmt.Println(randomGet(unsafe.Pointer(&make([]byte, 1<<16)[0]), 1<<16), randomGet(unsafe.Pointer(&make([]byte, 2<<20)[0]), 2<<20))
	case "dials":
		dials(os.Args[2])
	case "send":
		send(os.Args[2])
	case "flood":
		flood(os.Args[2])
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

//go:wasmimport wasi_snapshot_preview1 fd_write
func fdWrite(fd int32, vectors unsafe.Pointer, n uint32, written unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(to unsafe.Pointer, n uint32) uint32

// vectors names the same large memory again and again, in one write.
func vectors() {
	big := make([]byte, 32<<20)
	one := func(n int) (errno, written uint32) {
		all := make([][2]uint32, n)
		for i := range all {
			all[i] = [2]uint32{uint32(uintptr(unsafe.Pointer(&big[0]))), uint32(len(big))}
		}
		errno = fdWrite(2, unsafe.Pointer(&all[0]), uint32(n), unsafe.Pointer(&written))
		return errno, written
	}
	fmt.Println(one(400))
	fmt.Println(one(2000))
}

// dials opens connections until it gets no more.
func dials(addr string) {
	for n := 0; ; n++ {
		if _, err := net.Dial("tcp", addr); err != nil {
			fmt.Println(n, err)
			return
		}
	}
}

// send writes on one connection for ten seconds, and says how much was taken.
func send(addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	c.SetWriteDeadline(time.Now().Add(10 * time.Second))
	total, chunk := 0, bytes.Repeat([]byte("*1\r\n$4\r\nPING\r\n"), 5000)
	for err == nil {
		var n int
		n, err = c.Write(chunk)
		total += n
	}
	fmt.Println(total>>20, os.IsTimeout(err))
}

// flood asks and never reads.
func flood(addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	command(c, []string{"SET", "k", strings.Repeat("x", 1<<20)})
	for {
		command(c, []string{"GET", "k"})
	}
}

func command(c net.Conn, args []string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := c.Write(b.Bytes()); err != nil {
		panic(err)
	}
}
