package api

import (
	"errors"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/internal/rawjson"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

// maxKeyBytes bounds the body that asks for a key.
const maxKeyBytes = 64 << 10

func (a *API) keyRoutes() []Route {
	if a.opts.KeyStore == nil {
		return nil
	}
	return []Route{
		{
			Method: "GET", Path: "/v1/keys", Scope: identity.ScopeKeysAdmin, OperationID: "listKeys",
			Summary: "List the keys that the caller may revoke, without their secrets",
			Doc:     Doc{Responses: map[int]Content{200: {jsonType, "Keys"}}},
			Handle:  a.listKeys,
		},
		{
			Method: "POST", Path: "/v1/keys", Scope: identity.ScopeKeysAdmin, MaxBody: maxKeyBytes, OperationID: "addKey",
			Summary: "Make a key; its secret is told in this answer and never again",
			Doc: Doc{
				RequestTypes: map[string]string{jsonType: "KeySpec"},
				Responses:    map[int]Content{201: {jsonType, "NewKey"}},
			},
			Handle: a.addKey,
		},
		{
			Method: "DELETE", Path: "/v1/keys/{id}", Scope: identity.ScopeKeysAdmin, OperationID: "revokeKey",
			Summary: "Refuse a key from now on",
			Doc: Doc{
				Parameters: []Parameter{{Name: "id", In: "path", Type: "string", Required: true, Description: "id of the key, key_…"}},
				Responses:  map[int]Content{204: {}},
			},
			Handle: a.revokeKey,
		},
	}
}

// mayManage reports whether somebody may see and revoke a key: an administrator
// any, others those of their own tenant that can do no more than they can.
func mayManage(who *identity.Identity, key *identity.Key) bool {
	return who.Admin || key.Owner.Tenant == who.Owner.Tenant && who.Scopes.AllowAll(key.Scopes)
}

func (a *API) listKeys(r *Request) error {
	keys, err := a.opts.KeyStore.List(r.Context())
	if err != nil {
		return err
	}
	visible := []identity.Key{}
	for i := range keys {
		if mayManage(r.Identity, &keys[i]) {
			visible = append(visible, keys[i])
		}
	}
	return r.Encode(keyList{visible})
}

type keyList struct {
	Keys []identity.Key `json:"keys"`
}

// newKey is a key with its secret.
type newKey struct {
	identity.Key
	Secret string `json:"secret"`
}

func (a *API) addKey(r *Request) error {
	if kind := r.ContentType(); kind != jsonType {
		return problem.UnsupportedMediaType("%.80q is not taken here; send application/json", kind)
	}
	body, err := r.Body()
	if err != nil {
		return err
	}
	spec, err := parseKeySpec(body)
	if err != nil {
		return err
	}
	if err := mayMake(r.Identity, &spec); err != nil {
		return err
	}
	key, secret, err := a.opts.KeyStore.Add(r.Context(), spec)
	switch {
	case errors.Is(err, identity.ErrInvalid):
		return problem.BadRequest("%s", err)
	case errors.Is(err, identity.ErrTooMany):
		return problem.Conflict("%s", err)
	case err != nil:
		return keyProblem(err)
	}
	answer, err := abi.Encode(newKey{key, secret})
	if err != nil {
		return err
	}
	r.fiber.Set("Location", "/v1/keys/"+key.ID)
	r.fiber.Set("Cache-Control", "no-store")
	return r.JSON(201, answer)
}

// keyProblem tells of a full disk by its name: the client is to come again, which
// after a revocation that could not be kept is what makes it hold.
func keyProblem(err error) error {
	if errors.Is(err, kv.ErrNoSpace) {
		return problem.Unavailable(fullRetry, "the disk of the data directory is full")
	}
	return err
}

// mayMake tells why somebody may not make a key, nil if they may. Only an
// administrator speaks for somebody else: to others a key would be the way to
// read what belongs to another tenant or actor.
func mayMake(who *identity.Identity, spec *identity.KeySpec) error {
	if !who.Scopes.AllowAll(spec.Scopes) {
		return problem.Forbidden("the key lacks a scope that the new key is to have").At("/scopes")
	}
	if who.Admin {
		return nil
	}
	if spec.Tenant == "" {
		spec.Tenant = who.Owner.Tenant
	}
	if spec.Tenant != who.Owner.Tenant {
		return problem.Forbidden("only an administrator makes keys of another tenant").At("/tenant")
	}
	if spec.Actor != "" && spec.Actor != who.Owner.Actor {
		return problem.Forbidden("only an administrator makes keys of another actor").At("/actor")
	}
	return nil
}

func parseKeySpec(body []byte) (identity.KeySpec, error) {
	var spec identity.KeySpec
	if err := checkJSON(body); err != nil {
		return spec, err
	}
	if kind := rawjson.KindOf(body); kind != rawjson.Object {
		return spec, problem.BadRequest("the body is a JSON %s, and an object is expected", kind)
	}
	for name, value := range rawjson.Members(body) {
		at := rawjson.AppendPointer("", name)
		var err error
		switch name {
		case "name":
			spec.Name, err = text(value, at)
		case "scopes":
			spec.Scopes, err = scopes(value, at)
		case "tenant":
			spec.Tenant, err = text(value, at)
		case "actor":
			spec.Actor, err = text(value, at)
		case "actorType":
			var kind string
			kind, err = text(value, at)
			spec.ActorType = abi.ActorType(kind)
		case "expiresAt":
			spec.ExpiresAt, err = timeOf(value, at)
		default:
			err = unknownMember(at)
		}
		if err != nil {
			return spec, err
		}
	}
	return spec, nil
}

func scopes(value []byte, pointer string) (identity.Scopes, error) {
	if rawjson.KindOf(value) != rawjson.Array {
		return nil, problem.BadRequest("an array of strings is expected").At(pointer)
	}
	var list identity.Scopes
	for _, element := range rawjson.Elements(value) {
		scope, err := text(element, pointer)
		if err != nil {
			return nil, err
		}
		list = append(list, identity.Scope(scope))
	}
	return list, nil
}

func timeOf(value []byte, pointer string) (time.Time, error) {
	raw, err := text(value, pointer)
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, raw)
	if err != nil {
		return time.Time{}, problem.BadRequest("a date and time with a zone (RFC 3339) is expected").At(pointer)
	}
	return at, nil
}

func (a *API) revokeKey(r *Request) error {
	id := r.Param("id")
	keys, err := a.opts.KeyStore.List(r.Context())
	if err != nil {
		return err
	}
	for i := range keys {
		if keys[i].ID != id || !mayManage(r.Identity, &keys[i]) {
			continue
		}
		if err := a.opts.KeyStore.Revoke(r.Context(), id); err != nil {
			return keyProblem(err)
		}
		r.fiber.Status(204)
		return nil
	}
	return problem.NotFound("there is no such key")
}
