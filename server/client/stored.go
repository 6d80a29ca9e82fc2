package client

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"vcphost/abi"
	"vcphost/server/identity"
	"vcphost/server/local"
)

// Process asks what the server was started with.
func (c *Client) Process(ctx context.Context) (local.Process, error) {
	var process local.Process
	err := c.get(ctx, "/v1/local/process", &process)
	return process, err
}

// Plugins lists every plugin. Each module is loaded for it.
func (c *Client) Plugins(ctx context.Context) ([]local.Plugin, error) {
	var answer local.Plugins
	err := c.get(ctx, "/v1/local/plugins", &answer)
	return answer.Plugins, err
}

// Result gives a stored result as canonical JSON.
func (c *Client) Result(ctx context.Context, id string) ([]byte, error) {
	path, err := withID("/v1/results/", id)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, request{method: http.MethodGet, path: path})
}

// ResultText gives a stored result as a model would see it, within a budget of
// code points; 0 means the default.
func (c *Client) ResultText(ctx context.Context, id string, maxCharacters int) (string, error) {
	path, err := withID("/v1/results/", id)
	if err != nil {
		return "", err
	}
	query := url.Values{"view": {"ai"}}
	if maxCharacters > 0 {
		query.Set("maxCharacters", strconv.Itoa(maxCharacters))
	}
	var projection struct{ Text string }
	err = c.get(ctx, path+"?"+query.Encode(), &projection)
	return projection.Text, err
}

// Resource streams the bytes of a resource. The caller closes them.
func (c *Client) Resource(ctx context.Context, id string) (io.ReadCloser, error) {
	path, err := withID("/v1/resources/", id)
	if err != nil {
		return nil, err
	}
	answer, err := c.send(ctx, request{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Upload stores bytes as a resource under a file name. size is how many there
// are, less than 0 if nobody knows.
func (c *Client) Upload(ctx context.Context, name string, size int64, from io.Reader) (abi.Resource, error) {
	r := request{method: http.MethodPost, path: "/v1/resources", body: from, bodyBytes: size, header: map[string]string{}}
	if size == 0 {
		r.body = http.NoBody
	}
	if disposition := mime.FormatMediaType("attachment", map[string]string{"filename": name}); disposition != "" {
		r.header["Content-Disposition"] = disposition
	}
	var resource abi.Resource
	err := c.exchange(ctx, r, &resource)
	return resource, err
}

// Keys lists the keys, the oldest first.
func (c *Client) Keys(ctx context.Context) ([]identity.Key, error) {
	var answer struct{ Keys []identity.Key }
	err := c.get(ctx, "/v1/keys", &answer)
	return answer.Keys, err
}

// AddKey makes a key and gives its secret, which is told only once.
func (c *Client) AddKey(ctx context.Context, spec identity.KeySpec) (identity.Key, string, error) {
	body := map[string]any{"name": spec.Name, "scopes": spec.Scopes, "tenant": spec.Tenant, "actor": spec.Actor}
	if spec.ActorType != "" {
		body["actorType"] = spec.ActorType
	}
	if !spec.ExpiresAt.IsZero() {
		body["expiresAt"] = spec.ExpiresAt.UTC().Format(time.RFC3339)
	}
	var answer struct {
		identity.Key
		Secret string `json:"secret"`
	}
	err := c.post(ctx, "/v1/keys", body, &answer)
	return answer.Key, answer.Secret, err
}

// RevokeKey refuses a key from now on.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	path, err := withID("/v1/keys/", id)
	if err != nil {
		return err
	}
	_, err = c.read(ctx, request{method: http.MethodDelete, path: path})
	return err
}

// Healthy fails unless the server says that it lives.
func (c *Client) Healthy(ctx context.Context) error {
	var health struct{ Status string }
	if err := c.get(ctx, "/healthz", &health); err != nil {
		return err
	}
	if health.Status != "ok" {
		return fmt.Errorf("the server says %.40q", health.Status)
	}
	return nil
}
