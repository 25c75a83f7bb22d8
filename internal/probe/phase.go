package probe

import (
	"math/bits"
	"slices"
	"time"
)

// phases hands out places in the interval, one to each address, so that the
// probes of a round are spread evenly over it however many addresses there are.
//
// The places are those of the van der Corput sequence, 0, 1/2, 1/4, 3/4, 1/8 and
// so on: each new place halves a widest gap, and nobody moves when somebody
// joins. The places of those who left are filled first.
type phases struct {
	next uint32
	// free holds the numbers given back, the lowest last.
	free []uint32
}

// take returns the lowest number that nobody holds.
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

// offset returns where in the interval the number's place is.
func offset(number uint32, interval time.Duration) time.Duration {
	whole, _ := bits.Mul64(uint64(interval), uint64(bits.Reverse32(number))<<32)
	return time.Duration(whole)
}
