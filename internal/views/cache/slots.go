package cache

// slots gives each item a small number of its own.
type slots struct {
	next int
	free []int
}

func (s *slots) take() int {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.next++
	return s.next - 1
}

func (s *slots) give(slot int) { s.free = append(s.free, slot) }

// set is a set of slots: what one reader was shown. It costs a bit for each object.
type set []uint64

func (s *set) put(slot int, in bool) {
	word, bit := slot/64, uint64(1)<<(slot%64)
	for in && word >= len(*s) {
		*s = append(*s, 0)
	}
	switch {
	case in:
		(*s)[word] |= bit
	case word < len(*s):
		(*s)[word] &^= bit
	}
}

func (s set) has(slot int) bool {
	word := slot / 64
	return word < len(s) && s[word]&(1<<(slot%64)) != 0
}
