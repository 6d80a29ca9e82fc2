package api

import (
	"errors"
	"net"

	"vcphost/server/identity"
)

// Trusted gives a listener whose connections speak for who without a key: who
// can open one was checked by the system, as with a socket that only one user
// may open, or is this process itself. It must never be a listener that other
// machines reach, and a TCP listener is refused.
func Trusted(listener net.Listener, who *identity.Identity) (net.Listener, error) {
	if _, tcp := listener.Addr().(*net.TCPAddr); tcp || who == nil {
		return nil, errors.New("trust a listener: anybody can connect to it")
	}
	return &trustedListener{listener, who}, nil
}

type trustedListener struct {
	net.Listener
	who *identity.Identity
}

// Accept waits for the next connection and marks it.
func (l *trustedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &trustedConn{conn, l.who}, nil
}

// trustedConn is a connection that speaks for somebody. Only Trusted makes one,
// so nothing that a client sends can.
type trustedConn struct {
	net.Conn
	who *identity.Identity
}

// NetConn gives the connection as its listener gave it.
func (c *trustedConn) NetConn() net.Conn { return c.Conn }

// trustedBy tells whom a connection speaks for, nil for nobody.
func trustedBy(conn net.Conn) *identity.Identity {
	if c, ok := conn.(*trustedConn); ok {
		return c.who
	}
	return nil
}

// plainConn is a connection as the system has it.
func plainConn(conn net.Conn) net.Conn {
	if c, ok := conn.(*trustedConn); ok {
		return c.Conn
	}
	return conn
}
