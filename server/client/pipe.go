package client

import (
	"context"
	"net"
	"sync"
)

// Pipe is a listener in memory: what it accepts is the other end of what Dial
// gives, in the same process. It is safe for concurrent use.
type Pipe struct {
	queue     chan net.Conn
	done      chan struct{}
	closeOnce sync.Once
	serving   sync.WaitGroup // the server's ends that are open
}

// NewPipe makes a pipe that nobody listens on yet.
func NewPipe() *Pipe {
	return &Pipe{queue: make(chan net.Conn), done: make(chan struct{})}
}

// Dial connects, once somebody accepts.
func (p *Pipe) Dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.serving.Add(1)
	end := &pipeEnd{Conn: theirs, closed: p.serving.Done}
	select {
	case p.queue <- end:
		return ours, nil
	case <-p.done:
		_ = end.Close()
		return nil, net.ErrClosed
	case <-ctx.Done():
		_ = end.Close()
		return nil, context.Cause(ctx)
	}
}

// Accept waits for the next connection. After Close it fails with net.ErrClosed.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.queue:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close ends Dial and Accept; connections stay. It is idempotent.
func (p *Pipe) Close() error {
	p.closeOnce.Do(func() { close(p.done) })
	return nil
}

// Drain waits until the server has closed its end of every connection, or ctx
// ends. It is called after Close, when nobody dials any more.
func (p *Pipe) Drain(ctx context.Context) {
	gone := make(chan struct{})
	go func() {
		p.serving.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// Addr names the listener.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

// Network is the kind of the address.
func (pipeAddr) Network() string { return "pipe" }

// String is the address, which has a port as those of listeners do.
func (pipeAddr) String() string { return "pipe:0" }

// pipeEnd is the server's end of a connection.
type pipeEnd struct {
	net.Conn
	once   sync.Once
	closed func()
}

// Close closes the connection. It is idempotent.
func (e *pipeEnd) Close() error {
	err := e.Conn.Close()
	e.once.Do(e.closed)
	return err
}
