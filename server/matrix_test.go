package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

func TestEveryRouteDeclaresWhoMay(t *testing.T) {
	w := servertest.Start(t, nil)
	public := []string{"/healthz", "/readyz", "/docs", "/docs/{file}"}
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	operations, paths := map[string]bool{}, map[string]bool{}
	for _, route := range w.API.Routes() {
		name := route.Method + " " + route.Path
		ways := 0
		for _, is := range []bool{route.Scope != "", route.Public, route.PerTool} {
			if is {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%s declares %d of a scope, public and per tool, and must declare one", name, ways)
		}
		if route.Scope != "" && !slices.ContainsFunc(identity.KnownScopes(), func(s identity.ScopeInfo) bool { return s.Scope == route.Scope }) {
			t.Errorf("%s needs the scope %q, which no key can have", name, route.Scope)
		}
		if route.Public && (!slices.Contains(public, route.Path) || route.Alternative != nil) {
			t.Errorf("%s is public", name)
		}
		if route.Alternative != nil && route.Path != "/v1/resources/{id}" {
			t.Errorf("%s opens without a key", name)
		}
		if route.Local {
			t.Errorf("%s is of trusted connections, and listed for others", name)
		}
		if route.OperationID == "" || operations[route.OperationID] || paths[name] {
			t.Errorf("%s: operation %q, or the route itself, is there twice or has no name", name, route.OperationID)
		}
		operations[route.OperationID], paths[name] = true, true
		for _, match := range parameter.FindAllStringSubmatch(route.Path, -1) {
			if !slices.ContainsFunc(route.Doc.Parameters, func(p api.Parameter) bool { return p.Name == match[1] && p.In == "path" && p.Required }) {
				t.Errorf("%s: the path parameter %s is not documented", name, match[1])
			}
		}
	}
	for _, route := range w.API.LocalRoutes() {
		if !route.Local || route.Scope != identity.ScopeAdmin || paths[route.Method+" "+route.Path] {
			t.Errorf("%s %s is not an administrator's on trusted connections alone", route.Method, route.Path)
		}
	}
}

// sample is a request that a route takes.
type sample struct {
	path, kind, body string
	scope            identity.Scope // that is right; "" is the route's
	owned            bool           // the path names an object of the owner
	status           int            // of the right key; 0 is any that is no refusal
}

// samples are requests of the routes that need more than their path, by
// operation.
func samples(result, resource string) map[string]sample {
	const call = `{"tool":"Tiny.Run","arguments":{"n":1}}`
	return map[string]sample{
		"callTool":         {"/v1/human/tool", "application/json", call, "tools:call:Tiny", false, 200},
		"callCommand":      {"/v1/tools/Tiny/Run", "application/json", `{"n":1}`, "tools:call:Tiny.Run", false, 200},
		"getResult":        {"/v1/results/" + result, "", "", "", true, 200},
		"getResource":      {"/v1/resources/" + resource, "", "", "", true, 200},
		"describeResource": {"/v1/resources/" + resource + "/descriptor", "", "", "", true, 200},
		"signResource":     {"/v1/resources/" + resource + "/url", "application/json", `{"expiresInSeconds":60}`, "", true, 200},
		"uploadResource":   {"/v1/resources", "text/plain", "x", "", false, 201},
		"docsFile":         {"/docs/docs.css", "", "", "", false, 200},
		"getTool":          {"/v1/tools/Tiny", "", "", "", false, 0},
		"addKey":           {"/v1/keys", "application/json", `{"name":"n","scopes":["keys:admin"]}`, "", false, 201},
	}
}

// owner and strangers of the matrix.
const ownerTenant, ownerActor = "acme", "ada"

// matrix is a server with objects of one owner.
type matrix struct {
	*servertest.Server
	result, resource string
}

func newMatrix(t *testing.T, opts *servertest.Options) matrix {
	t.Helper()
	m := matrix{Server: servertest.Start(t, opts)}
	owner := m.As(m.key(t, ownerTenant, ownerActor, "tools:call:*", "resources:write"))
	status, _, body := owner.Do(t, "POST", "/v1/human/tool", "application/json", `{"tool":"Tiny.Run","arguments":{}}`)
	m.result = memberOf(t, body, "id")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	status, _, body = owner.Do(t, "POST", "/v1/resources", "text/plain", "the owner's own")
	if m.resource = memberOf(t, body, "id"); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	return m
}

func (m matrix) key(t *testing.T, tenant, actor string, scopes ...identity.Scope) string {
	t.Helper()
	return m.Key(t, identity.KeySpec{Tenant: tenant, Actor: actor, Scopes: scopes})
}

// of gives a request for a route: its own sample, or one made from its path.
func (m matrix) of(route api.Route) sample {
	id := route.OperationID
	if route.Method == "HEAD" { // the sample is its GET's
		for _, other := range m.API.Routes() {
			if other.Method == "GET" && other.Path == route.Path {
				id = other.OperationID
			}
		}
	}
	s, ok := samples(m.result, m.resource)[id]
	if !ok {
		s.path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(route.Path, "absent")
		if route.Doc.RequestTypes != nil {
			s.kind, s.body = "application/json", `{"requestId":"absent"}`
		}
	}
	if s.scope == "" {
		s.scope = route.Scope
	}
	return s
}

func TestWhoMayCallWhat(t *testing.T) {
	m := newMatrix(t, nil)
	strangers := map[string]string{"none": "", "wrong": m.Secret[:len(m.Secret)-8] + "AAAAAAAA", "nonsense": "x", "not ASCII": "\xff\x80"}
	strangers["expired"] = m.Key(t, identity.KeySpec{Scopes: identity.Scopes{"admin"}, ExpiresAt: time.Now().Add(50 * time.Millisecond)})
	strangers["revoked"] = m.revoked(t)
	time.Sleep(60 * time.Millisecond)
	for _, route := range m.API.Routes() {
		t.Run(route.Method+" "+route.Path, func(t *testing.T) {
			s := m.of(route)
			if route.Public {
				for name, secret := range strangers {
					if status, _, body := m.ask(t, route.Method, s, secret); status != 200 {
						t.Errorf("public, %s: %d %s", name, status, body)
					}
				}
				return
			}
			for name, secret := range strangers {
				status, header, body := m.ask(t, route.Method, s, secret)
				if status != 401 || header.Get("WWW-Authenticate") == "" || kindOf(body) != "/problems/unauthorized" && route.Method != "HEAD" {
					t.Errorf("%s: %d %s", name, status, body)
				}
			}
			m.scopes(t, route, s)
		})
	}
}

// scopes asks with keys that have one scope, all others, and everything.
func (m matrix) scopes(t *testing.T, route api.Route, s sample) {
	t.Helper()
	right := s.scope
	if right == "" {
		right = "tools:call:None"
	}
	others := identity.Scopes{"tools:call:Tin", "tools:call:Tiny.Other"}
	for _, known := range identity.KnownScopes() {
		if known.Scope != right && known.Scope != identity.ScopeAdmin && !strings.HasSuffix(string(known.Scope), "<glob>") {
			others = append(others, known.Scope)
		}
	}
	for _, who := range []struct {
		name, tenant, actor string
		scopes              identity.Scopes
		may, own            bool
	}{
		{"the right scope", ownerTenant, ownerActor, identity.Scopes{right}, true, true},
		{"every other scope", ownerTenant, ownerActor, others, s.scope == "", true},
		{"another tenant", "other", ownerActor, identity.Scopes{right}, true, false},
		{"another actor", ownerTenant, "eve", identity.Scopes{right}, true, false},
		{"an administrator", "other", "root", identity.Scopes{"admin"}, true, true},
	} {
		status, _, body := m.ask(t, route.Method, s, m.key(t, who.tenant, who.actor, who.scopes...))
		want := s.status
		switch {
		case !who.may:
			want = 403
		case s.owned && !who.own:
			want = 404
		}
		if want != 0 && status != want || want == 0 && (status == 401 || status == 403 || status >= 500) {
			t.Errorf("%s: %d %s, want %d", who.name, status, body, want)
		}
	}
}

// revoked gives the secret of a key that was revoked over HTTP.
func (m matrix) revoked(t *testing.T) string {
	t.Helper()
	secret := m.key(t, "t", "revoked", "admin")
	_, _, list := m.Do(t, "GET", "/v1/keys", "", "")
	var keys struct{ Keys []identity.Key }
	if err := json.Unmarshal(list, &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys.Keys {
		if key.Owner.Actor == "revoked" {
			if status, _, body := m.Do(t, "DELETE", "/v1/keys/"+key.ID, "", ""); status != 204 {
				t.Fatalf("revoke: %d %s", status, body)
			}
		}
	}
	return secret
}

// ask sends a sample with a request id that is always the same.
func (m matrix) ask(t *testing.T, method string, s sample, secret string) (int, http.Header, []byte) {
	t.Helper()
	return request(t, m.URL, method, s.path, s.body, map[string]string{
		"Authorization": bearer(secret), "Content-Type": s.kind, "X-Request-Id": "same",
	})
}

func bearer(secret string) string {
	if secret == "" {
		return ""
	}
	return "Bearer " + secret
}

// request sends headers that have a value.
func request(t testing.TB, url, method, path, body string, headers map[string]string) (int, http.Header, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, answer
}

// TestForeignIsAbsent compares the answers about an object of somebody else and
// about one that there is not.
func TestForeignIsAbsent(t *testing.T) {
	m := newMatrix(t, nil)
	stranger := m.key(t, "other", "eve", "results:read", "resources:read", "keys:admin", "tools:call:*", "tools:list")
	absentResult, absentResource := absent(m.result), absent(m.resource)
	_, _, list := m.Do(t, "GET", "/v1/keys", "", "")
	key := memberOf(t, list, "keys", "0", "id")
	for _, test := range []struct{ method, path, foreign, absent string }{
		{"GET", "/v1/results/%", m.result, absentResult},
		{"GET", "/v1/results/%?pointer=/data&view=ai", m.result, absentResult},
		{"GET", "/v1/results/%?view=nonsense", m.result, absentResult},
		{"GET", "/v1/resources/%", m.resource, absentResource},
		{"DELETE", "/v1/keys/%", key, absent(key)},
	} {
		ask := func(id string) string {
			status, header, body := m.ask(t, test.method, sample{path: strings.Replace(test.path, "%", id, 1)}, stranger)
			header.Del("Date")
			raw, _ := json.Marshal(header)
			if status != 404 || kindOf(body) != "/problems/not-found" {
				t.Errorf("%s %s: %d %s", test.method, test.path, status, body)
			}
			return strings.ReplaceAll(string(raw)+string(body), id, "ID")
		}
		if foreign, missing := ask(test.foreign), ask(test.absent); foreign != missing {
			t.Errorf("%s %s:\nforeign %s\nabsent  %s", test.method, test.path, foreign, missing)
		}
	}
	refer := func(id string) string {
		_, _, body := m.ask(t, "POST", sample{
			path: "/v1/human/tool", kind: "application/json", body: `{"tool":"Tiny.Other","arguments":{"f":{"$resource":"` + id + `"}}}`,
		}, stranger)
		var result abi.Result
		if err := json.Unmarshal(body, &result); err != nil || result.Error == nil || result.Error.Code != abi.CodeFileNotFound {
			t.Fatalf("%v %s", err, body)
		}
		raw, _ := json.Marshal(result.Error)
		return strings.ReplaceAll(string(raw), id, "ID")
	}
	if foreign, missing := refer(m.resource), refer(absentResource); foreign != missing {
		t.Errorf("as an argument:\nforeign %s\nabsent  %s", foreign, missing)
	}
}

// absent is an id of the same form that nothing has.
func absent(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	return prefix + "_01JDZ3V7Q8K5M2N4P6R8T0W2Y4"
}

// kindOf is the type of a problem.
func kindOf(body []byte) string {
	var told struct{ Type string }
	_ = json.Unmarshal(body, &told)
	return told.Type
}

// memberOf gives the text at a path into JSON.
func memberOf(t testing.TB, body []byte, path ...string) string {
	t.Helper()
	var at any
	if err := json.Unmarshal(body, &at); err != nil {
		t.Fatalf("%v in %.400s", err, body)
	}
	for _, name := range path {
		switch value := at.(type) {
		case map[string]any:
			at = value[name]
		case []any:
			at = value[int(name[0]-'0')]
		}
	}
	text, _ := at.(string)
	return text
}
