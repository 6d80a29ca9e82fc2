package client

import (
	"context"
	"io"
	"net/http"
)

// Backup streams a backup of the server's store. The caller closes it, and must
// read it to its end to know that it is whole.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	answer, err := c.send(ctx, request{method: http.MethodGet, path: "/v1/backup"})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}
