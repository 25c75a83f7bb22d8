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
