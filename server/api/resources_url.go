package api

import (
	"net/url"
	"strconv"
	"time"

	"vcphost/abi"
	"vcphost/internal/rawjson"
	"vcphost/server/identity"
	"vcphost/server/problem"
	"vcphost/server/signedurl"
)

const (
	defaultURLLifetime = time.Hour
	maxURLLifetime     = 7 * 24 * time.Hour
	// signedURLKeyID stands in the log, and before the bounds, for everybody who
	// comes with a signed URL.
	signedURLKeyID = "signed-url"
)

// signedURL is a URL that opens a resource without a key for a time (§7.6).
type signedURL struct {
	URL    string             `json:"url"`
	Access abi.ResourceAccess `json:"access"`
}

// signResource answers with a signed URL of a resource that the caller may read.
func (a *API) signResource(r *Request) error {
	lifetime, err := r.urlLifetime()
	if err != nil {
		return err
	}
	resource, err := a.opts.Resources.Describe(r.Context(), r.Identity.Viewer(), r.Param("id"))
	if err != nil {
		return resourceProblem(err)
	}
	expires := a.opts.Now().Add(lifetime).UTC().Truncate(time.Second)
	at := resourcePath(resource.ID)
	if resource.URL != nil {
		at = *resource.URL
	}
	r.fiber.Set("Cache-Control", "no-store")
	return r.Encode(signedURL{
		URL:    at + "?" + a.opts.URLs.Query(resource.ID, expires),
		Access: abi.ResourceAccess{Type: abi.AccessEphemeral, ExpiresAt: &expires},
	})
}

func resourcePath(id string) string { return "/v1/resources/" + url.PathEscape(id) }

// urlLifetime reads the body {"expiresInSeconds": n}; none means the default.
func (r *Request) urlLifetime() (time.Duration, error) {
	body, err := r.Body()
	if err != nil {
		return 0, err
	}
	if len(body) == 0 {
		return defaultURLLifetime, nil
	}
	if kind := r.ContentType(); kind != jsonType {
		return 0, problem.UnsupportedMediaType("%.80q is not taken here; send application/json", kind)
	}
	if err := checkJSON(body); err != nil {
		return 0, err
	}
	if kind := rawjson.KindOf(body); kind != rawjson.Object {
		return 0, problem.BadRequest("the body is a JSON %s, and an object is expected", kind)
	}
	lifetime := defaultURLLifetime
	for name, value := range rawjson.Members(body) {
		at := rawjson.AppendPointer("", name)
		if name != "expiresInSeconds" {
			return 0, unknownMember(at)
		}
		seconds, err := count(value, at)
		if err != nil {
			return 0, err
		}
		lifetime = time.Duration(seconds) * time.Second
		if lifetime > maxURLLifetime {
			return 0, problem.BadRequest("a URL lives at most %d seconds", int64(maxURLLifetime.Seconds())).At(at)
		}
	}
	return lifetime, nil
}

// bySignedURL is the proof in a signed URL. Whoever made it could read the
// resource, so it opens this one whoever owns it, and nothing else: the identity
// has no scope, and only routes that name this proof take it.
func (a *API) bySignedURL(r *Request) (*identity.Identity, error) {
	signature := r.Query(signedurl.SignatureParameter)
	if signature == "" || a.opts.URLs == nil {
		return nil, nil
	}
	if _, ok := a.opts.URLs.Verify(r.Param("id"), r.Query(signedurl.ExpiresParameter), signature, a.opts.Now()); !ok {
		return nil, problem.Forbidden("the URL has expired, or its signature is not this server's")
	}
	return &identity.Identity{KeyID: signedURLKeyID, Name: signedURLKeyID, Admin: true}, nil
}

// cacheSeconds is how long a cache may keep the bytes: they never change, but a
// signed URL opens them no longer than it holds.
func (r *Request) cacheSeconds() int64 {
	const year = 365 * 24 * 60 * 60
	if r.Identity.KeyID != signedURLKeyID {
		return year
	}
	expires, err := strconv.ParseInt(r.Query(signedurl.ExpiresParameter), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(expires-r.api.opts.Now().Unix(), 0), year)
}
