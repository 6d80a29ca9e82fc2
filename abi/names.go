package abi

import "strings"

// MaxCodeBytes bounds an error or warning code.
const MaxCodeBytes = 128

// ValidCode reports whether s has the form of a code: upper-case words joined
// by underscores, optionally below dotted namespaces, such as
// "DOUBAO.CONTENT_POLICY_REJECTED" (§6.3).
func ValidCode(s string) bool {
	return len(s) <= MaxCodeBytes && segments(s, 1, func(c byte, first bool) bool {
		return isUpper(c) || !first && (isDigit(c) || c == '_')
	})
}

// ValidExtensionKey reports whether s is a namespaced key, such as
// "vendor.example": at least two dotted segments of letters, digits, '-' and
// '_' that begin with a letter (§5.10).
func ValidExtensionKey(s string) bool {
	return len(s) <= MaxCodeBytes && segments(s, 2, func(c byte, first bool) bool {
		return isUpper(c) || isLower(c) || !first && (isDigit(c) || c == '_' || c == '-')
	})
}

// ReservedExtensionKey reports whether the host alone may write the key. Other
// keys below "vcp." name business areas of the protocol, such as "vcp.schedule"
// in §5.10, and are a plugin's to use.
func ReservedExtensionKey(key string) bool {
	for _, reserved := range HostExtensionKeys() {
		if key == reserved || strings.HasPrefix(key, reserved+".") {
			return true
		}
	}
	return false
}

// Extension keys that the host writes.
const (
	// ExtensionSandbox tells what a sandboxed call used.
	ExtensionSandbox = "vcp.sandbox"
	// ExtensionLegacy tells how a legacy plugin's answer was adapted.
	ExtensionLegacy = "vcp.legacy"
	// ExtensionTrust holds the [Trust] class of the plugin.
	ExtensionTrust = "vcp.trust"
)

// HostExtensionKeys lists the keys that the host writes.
func HostExtensionKeys() []string {
	return []string{ExtensionSandbox, ExtensionLegacy, ExtensionTrust}
}

func segments(s string, least int, allowed func(c byte, first bool) bool) bool {
	count := 0
	for segment := range strings.SplitSeq(s, ".") {
		if segment == "" {
			return false
		}
		for i := range len(segment) {
			if !allowed(segment[i], i == 0) {
				return false
			}
		}
		count++
	}
	return count >= least
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// SameName reports whether two names differ at most in the case of ASCII
// letters and in '_' and '-', the tolerance with which commands and members
// are matched.
func SameName(a, b string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && (a[i] == '_' || a[i] == '-') {
			i++
		}
		for j < len(b) && (b[j] == '_' || b[j] == '-') {
			j++
		}
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		if lower(a[i]) != lower(b[j]) {
			return false
		}
		i, j = i+1, j+1
	}
}

func lower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}
