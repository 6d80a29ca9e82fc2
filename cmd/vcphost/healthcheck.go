package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"vcphost/internal/config"
	"vcphost/server/client"
)

// healthTimeout bounds the whole check.
const healthTimeout = 5 * time.Second

func (p *Program) healthcheckCommand() *cobra.Command {
	var addr string
	command := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask whether a server lives",
		Long: `Ask a server whether it lives, without a key. Exit status: 0 if it does, 1 if it
does not or does not answer within 5 seconds.`,
		Example: `  vcphost healthcheck
  vcphost healthcheck --addr 127.0.0.1:7000`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(command.Context(), healthTimeout)
			defer cancel()
			c := client.New(func(ctx context.Context) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			})
			defer c.Close()
			if err := c.Healthy(ctx); err != nil {
				fmt.Fprintf(p.Stderr, "vcphost: %s\n", oneLine(err))
				p.status = exitResult
			}
			return nil
		},
	}
	command.Flags().StringVar(&addr, "addr", config.Default().Addr, "host and port of the server")
	return command
}
