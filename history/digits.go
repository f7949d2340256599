package history

import (
	"math/bits"
	"strconv"
)

// twoDigits are the numbers 00 to 99, and powers the powers of ten.
const twoDigits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869" +
	"707172737475767778798081828384858687888990919293949596979899"

var powers = [...]uint64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18}

// appendInt appends v in decimal, as strconv.AppendInt does. Half of a line are numbers,
// and to write one in place takes half the time of putting it together elsewhere.
func appendInt(buf []byte, v int64) []byte {
	if v < 0 || v >= 1e18 {
		return strconv.AppendInt(buf, v, 10)
	}
	u := uint64(v)
	// 1233/4096 is log10(2): the number of digits, or one too many
	n := bits.Len64(u|1)*1233>>12 + 1
	if n > 1 && u < powers[n-1] {
		n--
	}
	end := len(buf) + n
	if end > cap(buf) {
		return strconv.AppendInt(buf, v, 10)
	}
	buf = buf[:end]
	p := end
	for u >= 100 {
		rest := u / 100
		two := (u - rest*100) * 2
		p -= 2
		buf[p], buf[p+1] = twoDigits[two], twoDigits[two+1]
		u = rest
	}
	if u >= 10 {
		buf[p-2], buf[p-1] = twoDigits[2*u], twoDigits[2*u+1]
	} else {
		buf[p-1] = '0' + byte(u)
	}
	return buf
}
