package health

import (
	"math/bits"
	"slices"
	"time"
)

// phases hands out places in the interval, one to each address, so that the
// probes of a round are spread evenly over it however many addresses there are.
//
// The places are those of the van der Corput sequence, 0, 1/2, 1/4, 3/4, 1/8 and
// so on: each new place halves a widest gap, and no address moves when
// another one is added. Places that were given back are filled first.
//
// An interval has a fixed number of steps; more addresses share them evenly. To wake
// up for each check alone costs more than the check: a thousand checks every two
// seconds need half as much CPU when eight of them start together.
type phases struct {
	next uint32
	// free holds the numbers given back, the lowest last.
	free []uint32
}

// take returns the lowest free number.
func (p *phases) take() uint32 {
	if last := len(p.free) - 1; last >= 0 {
		number := p.free[last]
		p.free = p.free[:last]
		return number
	}
	p.next++
	return p.next - 1
}

// giveBack makes a number free again.
func (p *phases) giveBack(number uint32) {
	at, _ := slices.BinarySearchFunc(p.free, number, func(a, b uint32) int { return int(b) - int(a) })
	p.free = slices.Insert(p.free, at, number)
}

// steps is the number of moments in an interval at which checks start, as a power
// of two: 128, 16 ms apart at an interval of 2 s.
const steps = 7

// offset returns where in the interval the number's place is.
func offset(number uint32, interval time.Duration) time.Duration {
	step := bits.Reverse32(number) >> (32 - steps)
	whole, part := bits.Mul64(uint64(interval), uint64(step))
	return time.Duration(whole<<(64-steps) | part>>steps)
}
