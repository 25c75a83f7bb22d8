package wire

import (
	"os"
	"time"
)

const (
	// frameSize holds the largest frame: TAP devices are made with an MTU of 1500.
	frameSize = 2048
	// header is the size of an Ethernet header.
	header = 14
	// underway is how many frames fit on the wire; further ones are lost, as
	// in any queue.
	underway = 4096
)

// frame is on its way until it is due.
type frame struct {
	data []byte
	due  time.Time
}

// carry copies frames from one end to the other until an end is closed. One
// goroutine sends them, in order: a frame that is due waits for those before it.
func (w *Wire) carry(d *direction, from, to *os.File) {
	line := make(chan frame, underway)
	w.copying.Go(func() {
		defer close(line)
		d.read(from, line)
	})
	w.copying.Go(func() {
		for f := range line {
			// A device of the other end that is down refuses frames: lost.
			time.Sleep(time.Until(f.due))
			_, _ = to.Write(f.data)
		}
	})
}

// read puts what the condition lets through on the line.
func (d *direction) read(from *os.File, line chan<- frame) {
	buffer := make([]byte, frameSize)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return // closed
		}
		c := *d.condition.Load()
		if c.swallows(n, d.random.Float64()) {
			d.lost.Add(1)
			continue
		}
		due := time.Now().Add(c.Latency)
		if c.Jitter > 0 {
			due = due.Add(time.Duration(d.random.Int64N(int64(c.Jitter))))
		}
		if len(line) == cap(line) {
			d.lost.Add(1)
			continue
		}
		d.carried.Add(1)                                                  // before any reader can see that it was carried
		line <- frame{data: append([]byte(nil), buffer[:n]...), due: due} // there is room: no other sends
	}
}

// swallows decides about one frame by its size and a number from 0 to 1.
func (c Condition) swallows(size int, dice float64) bool {
	return c.Cut || dice < c.Loss || c.MaxPacket > 0 && size-header > c.MaxPacket
}
