package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// message is a line of what the process that runs the suite tells the one that
// watches it: which case begins, or what came of it.
type message struct {
	Began string `json:"began,omitempty"`
	Line  *Line  `json:"line,omitempty"`
}

// Serve runs cases for a [Watch] in another process, which reads from w what
// becomes of them, and writes to r how late the machine is by itself. An error is
// of the host, not of a case.
func Serve(ctx context.Context, r io.Reader, w io.Writer, opts Options, cases []Case) (err error) {
	runner, err := NewRunner(ctx, opts)
	if err != nil {
		return err
	}
	go runner.late.follow(r, opts.Gone) // ends with the process: a read cannot be given up
	defer func() { err = errors.Join(err, runner.Close(context.WithoutCancel(ctx))) }()
	to := json.NewEncoder(w)
	for _, c := range cases {
		if err := to.Encode(message{Began: c.Name}); err != nil {
			return fmt.Errorf("report to the process that watches: %w", err)
		}
		line := runner.Run(ctx, c)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := to.Encode(message{Line: &line}); err != nil {
			return fmt.Errorf("report to the process that watches: %w", err)
		}
	}
	return nil
}
