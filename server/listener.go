package server

import (
	"net"
	"sync"
	"time"
)

// listener hands out connections that have the limits of this package: at most
// so many at a time, and a time-out for each piece of what is written. A
// connection too many is told so and closed.
type listener struct {
	net.Listener
	places     chan struct{} // holds an element for each open connection
	writeStall time.Duration
	partings   *partings
	parked     *parked

	begin    sync.Once
	arrivals chan arrival
	running  sync.WaitGroup
}

// arrival is what an Accept gave.
type arrival struct {
	conn net.Conn
	err  error
}

func newListener(l net.Listener, places int, writeStall time.Duration, p *partings) *listener {
	return &listener{
		Listener: l, places: make(chan struct{}, places), writeStall: writeStall, partings: p,
		parked: newParked(), arrivals: make(chan arrival),
	}
}

// Accept waits for the next connection that has a place, or for a parked one
// that has got a byte.
func (l *listener) Accept() (net.Conn, error) {
	l.begin.Do(func() { l.running.Go(l.arrive) })
	for {
		select {
		case <-l.parked.over:
			return nil, net.ErrClosed
		case c := <-l.parked.woken:
			return c, nil
		case a := <-l.arrivals:
			if a.err != nil {
				return nil, a.err
			}
			if c := l.place(a.conn); c != nil {
				return c, nil
			}
		}
	}
}

// arrive accepts until the listener is closed.
func (l *listener) arrive() {
	for {
		c, err := l.Listener.Accept()
		select {
		case l.arrivals <- arrival{c, err}:
		case <-l.parked.over:
			if err == nil {
				_ = c.Close()
			}
			return
		}
	}
}

// place gives a connection a place; nil if there is none left.
func (l *listener) place(accepted net.Conn) net.Conn {
	select {
	case l.places <- struct{}{}:
		return &conn{Conn: accepted, of: l}
	default:
		if !l.partings.begin(accepted, fullAnswer()) {
			_ = accepted.Close() // nobody could do anything about its error
		}
		return nil
	}
}

// Close ends the listening and the connections that are parked.
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.parked.close()
	l.begin.Do(func() {}) // none begins any more
	l.running.Wait()
	return err
}
