//go:build !linux

package health

import "net"

// hangUp ends the connection by a FIN and, right behind it, a reset; see the one
// for Linux for the reason. Here a quick peer can still make it a TIME_WAIT.
func hangUp(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.CloseWrite()
	_ = conn.Close()
}
