package controlplane

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// reserve finds a free port of the address and keeps it until release. It binds a
// socket to the port and never listens: while the API server is down, connections are
// refused, and no other program can take the port, not even as the source port of a
// connection. SO_REUSEPORT lets the server bind the port too.
func reserve(address netip.Addr) (port uint16, release func(), err error) {
	family, local := socketAddress(address)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port of %v: %w", address, err)
	}
	release = func() { _ = unix.Close(fd) }
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1), unix.Bind(fd, local))
	if err == nil {
		port, err = boundPort(fd)
	}
	if err != nil {
		release()
		return 0, nil, fmt.Errorf("reserve a port of %v: %w", address, err)
	}
	return port, release, nil
}

func socketAddress(address netip.Addr) (family int, local unix.Sockaddr) {
	if address.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Addr: address.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Addr: address.As16()}
}

func boundPort(fd int) (uint16, error) {
	bound, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	switch bound := bound.(type) {
	case *unix.SockaddrInet4:
		return uint16(bound.Port), nil
	case *unix.SockaddrInet6:
		return uint16(bound.Port), nil
	default:
		return 0, fmt.Errorf("unexpected socket address %T", bound)
	}
}
