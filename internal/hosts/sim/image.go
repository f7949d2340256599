package sim

// The Go linker writes tens of thousands of small data segments, which wazero applies one by one
// for each instance: most of an instance's start. splitData takes them out of the module and lays
// them into one image, which instances map copy-on-write (image_linux.go).

// The sections of a module, by their numbers in the WebAssembly specification (5.5.2).
const (
	sectionData      = 11
	sectionDataCount = 12
)

// splitData returns the module without its data, and the memory that the data make. ok is false
// when the module is not laid out as the Go linker does; it is then run as it is.
func splitData(wasm []byte) (rest, image []byte, ok bool) {
	const header = 8
	if len(wasm) < header {
		return nil, nil, false
	}
	rest = append(rest, wasm[:header]...)
	for at := header; at < len(wasm); {
		size, n := unsigned(wasm[at+1:])
		from := at + 1 + n
		if n == 0 || size > uint64(len(wasm)-from) {
			return nil, nil, false
		}
		to := from + int(size)
		switch wasm[at] {
		case sectionDataCount:
		case sectionData:
			if image, ok = layOut(wasm[from:to]); !ok {
				return nil, nil, false
			}
		default:
			rest = append(rest, wasm[at:to]...)
		}
		at = to
	}
	return rest, image, ok
}

// mostImage bounds the image of a program's data.
const mostImage = 128 << 20

// layOut lays the segments of a data section into memory.
func layOut(section []byte) (image []byte, ok bool) {
	count, n := unsigned(section)
	if n == 0 {
		return nil, false
	}
	for p := section[n:]; count > 0; count-- {
		const active, i32const, end = 0, 0x41, 0x0b
		if len(p) < 2 || p[0] != active || p[1] != i32const {
			return nil, false
		}
		offset, n := signed(p[2:])
		if n == 0 || len(p) < 3+n || p[2+n] != end {
			return nil, false
		}
		p = p[3+n:]
		size, n := unsigned(p)
		if n == 0 || size > uint64(len(p)-n) {
			return nil, false
		}
		from := int(uint32(offset))
		to := from + int(size)
		if to > mostImage {
			return nil, false
		}
		if to > len(image) {
			image = append(image, make([]byte, to-len(image))...)
		}
		copy(image[from:], p[n:n+int(size)])
		p = p[n+int(size):]
	}
	return image, true
}

// unsigned reads a LEB128 number, and returns how many bytes it takes; 0: it is none.
func unsigned(b []byte) (v uint64, n int) {
	for shift := 0; n < len(b) && shift < 64; shift += 7 {
		v |= uint64(b[n]&0x7f) << shift
		n++
		if b[n-1] < 0x80 {
			return v, n
		}
	}
	return 0, 0
}

// signed reads a signed LEB128 number.
func signed(b []byte) (v int64, n int) {
	for shift := 0; n < len(b) && shift < 64; {
		v |= int64(b[n]&0x7f) << shift
		shift += 7
		n++
		if b[n-1] < 0x80 {
			if b[n-1]&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v, n
		}
	}
	return 0, 0
}
