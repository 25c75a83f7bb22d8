package transport

// Signal leaves one value in a channel with room for one, however much happens before it
// is taken.
func Signal(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
