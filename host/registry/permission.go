package registry

import (
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"vcphost/internal/rawjson"
)

// PermissionKind is a sort of access that a plugin can ask for.
type PermissionKind string

// The permission kinds.
const (
	PermissionKV     PermissionKind = "kv"     // a small store of its own
	PermissionConfig PermissionKind = "config" // configured values
	PermissionHTTP   PermissionKind = "http"   // requests to named hosts
	PermissionMount  PermissionKind = "mount"  // a directory
	PermissionEnv    PermissionKind = "env"    // environment variables
)

// Permission is one wish of a plugin. Which fields count depends on Kind.
type Permission struct {
	Kind   PermissionKind
	Reason string // for the administrator; never empty

	Bytes int64 // kv: quota over keys and values; default 1 MiB

	Keys []string // config: keys of the configSchema

	Hosts       []string // http: "host", "host:port" or "*.domain", lower case
	Methods     []string // http: upper case; default GET
	MaxBytes    int64    // http: of one response; default 1 MiB
	MaxRequests int64    // http: of one call; default 4

	Name   string // mount: what the administrator binds to a directory
	Path   string // mount: where the guest sees it, absolute
	Access string // mount: "ro" (default) or "rw"

	Names []string // env: names of variables
}

const (
	defaultKVBytes      = 1 << 20
	mostKVBytes         = 1 << 30
	defaultHTTPBytes    = 1 << 20
	mostHTTPBytes       = 1 << 30
	defaultHTTPRequests = 4
	mostHTTPRequests    = 10_000
)

func (r *reader) readPermissions(v value) {
	for element := range v.elements() {
		if !element.is(rawjson.Object) {
			continue
		}
		r.manifest.Sandbox.Permissions = append(r.manifest.Sandbox.Permissions, r.readPermission(element))
	}
}

func (r *reader) readPermission(v value) Permission {
	kind := v.member("kind")
	if !kind.present() {
		kind.refuse("is required")
	}
	p := Permission{
		Kind:   oneOf(kind, PermissionKV, PermissionConfig, PermissionHTTP, PermissionMount, PermissionEnv),
		Reason: v.member("reason").requiredText(),
	}
	switch p.Kind {
	case PermissionKV:
		v.unknown(true, "kind", "reason", "bytes")
		p.Bytes = v.member("bytes").integer(span{defaultKVBytes, 1, mostKVBytes})
		r.refuseSecond(v, p)
	case PermissionConfig:
		v.unknown(true, "kind", "reason", "keys")
		p.Keys = r.readConfigKeys(v.member("keys"))
	case PermissionHTTP:
		v.unknown(true, "kind", "reason", "hosts", "methods", "maxBytes", "maxRequests")
		readHTTP(v, &p)
	case PermissionMount:
		v.unknown(true, "kind", "reason", "name", "path", "access")
		readMount(v, &p)
		r.refuseSecond(v, p)
	case PermissionEnv:
		v.unknown(true, "kind", "reason", "names")
		p.Names = readEnvNames(v.member("names"))
	}
	return p
}

// refuseSecond refuses a permission that contradicts an earlier one.
func (r *reader) refuseSecond(v value, p Permission) {
	for _, earlier := range r.manifest.Sandbox.Permissions {
		switch {
		case earlier.Kind != p.Kind:
		case p.Kind == PermissionKV:
			v.refuse("a plugin has one store: kv is asked for twice")
		case p.Kind == PermissionMount && p.Name != "" && earlier.Name == p.Name:
			v.member("name").refuse("the mount %s is asked for twice", quoted(p.Name))
		case p.Kind == PermissionMount && p.Path != "" && earlier.Path == p.Path:
			v.member("path").refuse("two mounts have the path %s", quoted(p.Path))
		}
	}
}

// required lists the texts of an array that must not be empty.
func required(v value) []string {
	list := v.texts()
	if len(list) == 0 && (!v.present() || rawjson.KindOf(v.raw) == rawjson.Array) {
		v.refuse("is required and must not be empty")
	}
	return list
}

func (r *reader) readConfigKeys(v value) []string {
	keys := required(v)
	known := make([]string, 0, len(r.manifest.ConfigSchema))
	for key := range r.manifest.ConfigSchema {
		known = append(known, key)
	}
	slices.Sort(known)
	for i, key := range keys {
		if key != "" && !slices.Contains(known, key) {
			at := value{findings: v.findings, pointer: rawjson.AppendPointer(v.pointer, strconv.Itoa(i))}
			at.refuse("%s is not in configSchema%s", quoted(key), suggest(key, known))
		}
	}
	return keys
}

func readHTTP(v value, p *Permission) {
	hosts := v.member("hosts")
	p.Hosts = required(hosts)
	for i, host := range p.Hosts {
		p.Hosts[i] = strings.ToLower(host)
		if host != "" && !validHost(p.Hosts[i]) {
			at := value{findings: v.findings, pointer: rawjson.AppendPointer(hosts.pointer, strconv.Itoa(i))}
			at.refuse(`%s is no host; write "host", "host:port" or "*.domain"`, quoted(host))
		}
	}
	methods := v.member("methods")
	p.Methods = []string{"GET"}
	if methods.present() {
		p.Methods = required(methods)
	}
	for i, method := range p.Methods {
		if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
			at := value{findings: v.findings, pointer: rawjson.AppendPointer(methods.pointer, strconv.Itoa(i))}
			at.refuse("%s is no method that can be asked for", quoted(method))
		}
	}
	p.MaxBytes = v.member("maxBytes").integer(span{defaultHTTPBytes, 1, mostHTTPBytes})
	p.MaxRequests = v.member("maxRequests").integer(span{defaultHTTPRequests, 1, mostHTTPRequests})
}

// validHost accepts a lower-case name or address with an optional port; a name
// may begin with "*." for all names below a domain of at least two labels.
func validHost(pattern string) bool {
	host := pattern
	if name, port, err := net.SplitHostPort(pattern); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return false
		}
		host = name
	} else if strings.HasPrefix(pattern, "[") && strings.HasSuffix(pattern, "]") {
		host = pattern[1 : len(pattern)-1]
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Zone() == ""
	}
	domain, wildcard := strings.CutPrefix(host, "*.")
	if len(domain) > 253 || wildcard && !strings.Contains(domain, ".") {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if !validLabel(label) {
			return false
		}
	}
	return true
}

func validLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func readMount(v value, p *Permission) {
	name := v.member("name")
	p.Name = name.requiredText()
	if fault := nameFault(p.Name); p.Name != "" && fault != "" {
		name.refuse("%s", fault)
	}
	where := v.member("path")
	p.Path = where.requiredText()
	if p.Path != "" && (!path.IsAbs(p.Path) || path.Clean(p.Path) != p.Path || p.Path == "/" ||
		strings.Contains(p.Path, `\`) || hasControl(p.Path)) {
		where.refuse(`%s must be an absolute path of the guest below "/", without "..", "." and "//"`, quoted(p.Path))
	}
	p.Access = oneOf(v.member("access"), "ro", "rw")
	if p.Access == "" {
		p.Access = "ro"
	}
}

func readEnvNames(v value) []string {
	names := required(v)
	for i, name := range names {
		if name != "" && !validEnv(name) {
			at := value{findings: v.findings, pointer: rawjson.AppendPointer(v.pointer, strconv.Itoa(i))}
			at.refuse("%s is no name of an environment variable", quoted(name))
		}
	}
	return names
}

func validEnv(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
