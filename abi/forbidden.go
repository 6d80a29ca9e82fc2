package abi

import "strings"

// ForbiddenMember tells whether a member of this name must not be in data, and
// why (§5.6, §13.2). The comparison ignores case, '_' and '-'. Where Top is
// set, it counts only for a member of data itself: deeper down, "details" or
// "timestamp" may be a true business field.
type ForbiddenMember struct {
	Name   string
	Reason string
	Top    bool
}

// ForbiddenMembers is the list of member names that data must not have.
func ForbiddenMembers() []ForbiddenMember {
	return []ForbiddenMember{
		{"result", "a vague wrapper", true},
		{"details", "a vague wrapper", true},
		{"original_plugin_output", "a vague wrapper", false},
		{"plugin_error", "an error inside a success", false},
		{"timestamp", "the core keeps the time of a call", true},
		{"plugin_name", "the core names the plugin", true},
		{"maid", "the core names the actor", true},
		{"maid_name", "the core names the actor", true},
		{"record_id", "the core names the record", true},
	}
}

// LookupForbiddenMember gives the row of the list for a member at the given
// depth below data (1 for its own members).
func LookupForbiddenMember(name string, depth int) (ForbiddenMember, bool) {
	for _, forbidden := range ForbiddenMembers() {
		if (!forbidden.Top || depth == 1) && SameName(forbidden.Name, name) {
			return forbidden, true
		}
	}
	return ForbiddenMember{}, false
}

// ForbiddenText tells why a string must not be in data: it is an absolute local
// path or it holds HTML that a browser would act on (§5.6, §13.2). It returns
// "" for a string that may stay.
func ForbiddenText(s string) string {
	switch {
	case isLocalPath(s):
		return "an absolute local path"
	case hasActiveHTML(s):
		return "an HTML directive"
	}
	return ""
}

// ForbiddenContentType reports whether an object with this "type" member is a
// content part of a model vendor's message (§13.2).
func ForbiddenContentType(kind string) bool {
	switch kind {
	case "image_url", "input_text", "input_image", "output_text", "input_audio", "tool_result", "tool_use":
		return true
	}
	return false
}

// isLocalPath looks at the whole string, not at paths in prose: a path under a
// directory that exists on real systems, a Windows drive path, or a file URL.
func isLocalPath(s string) bool {
	if len(s) < 4 || len(s) > 4096 || strings.ContainsAny(s, "\n\r") {
		return false
	}
	if (isUpper(s[0]) || isLower(s[0])) && s[1] == ':' && (s[2] == '\\' || s[2] == '/') && s[3] != '/' {
		return true
	}
	if strings.HasPrefix(s, `\\`) || strings.HasPrefix(strings.ToLower(s), "file://") {
		return true
	}
	for _, root := range localRoots() {
		if strings.HasPrefix(s, root) {
			return true
		}
	}
	return false
}

func localRoots() []string {
	return []string{
		"/home/", "/root/", "/tmp/", "/var/", "/usr/", "/etc/", "/opt/", "/srv/", "/mnt/", "/media/",
		"/Users/", "/private/", "/Volumes/", "/proc/", "/dev/", "/sys/", "/run/", "/boot/",
	}
}

// hasActiveHTML finds tags that do something in a browser. Other angle brackets
// are text.
func hasActiveHTML(s string) bool {
	if !strings.Contains(s, "<") {
		return false
	}
	lower := strings.ToLower(s)
	for _, tag := range []string{"<script", "<iframe", "<object", "<embed", "<style", "<img ", "<img/", "<svg ", "<link ", "<meta ", "<form ", "<div style", "<base "} {
		if strings.Contains(lower, tag) {
			return true
		}
	}
	return false
}
