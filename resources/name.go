package resources

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"vcphost/abi"
)

// cleanName makes a file name that is safe to save under on any system and to
// show: the last element of a path, without control and direction characters,
// without what Windows refuses, at most abi.MaxFileNameBytes long with its
// extension kept. It returns "" where nothing is left.
func cleanName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(cleanRune, strings.ToValidUTF8(name, "_"))
	name = shorten(trimName(name), abi.MaxFileNameBytes)
	if reservedOnWindows(name) {
		name = shorten("_"+name, abi.MaxFileNameBytes)
	}
	return name
}

// cleanRune drops (-1) or replaces what must not be in a file name. The two
// joiners stay, which scripts and emoji need; other format characters can make
// a name look like another one, a right-to-left override above all.
func cleanRune(r rune) rune {
	const zwnj, zwj = '\u200c', '\u200d'
	switch {
	case r == zwnj || r == zwj:
		return r
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
		return -1
	case strings.ContainsRune(`<>:"|?*`, r):
		return '_'
	}
	return r
}

// trimName cuts blanks around a name and the dots that Windows drops at its
// end, which also leaves nothing of "." and "..".
func trimName(name string) string {
	name = strings.TrimLeftFunc(name, unicode.IsSpace)
	return strings.TrimRightFunc(name, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
}

// shorten cuts the stem of a name at a rune's boundary until it has at most
// most bytes.
func shorten(name string, most int) string {
	if len(name) <= most {
		return name
	}
	const longestExtension = 16
	ext := path.Ext(name)
	if len(ext) > longestExtension {
		ext = ""
	}
	end := most - len(ext)
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return trimName(name[:end]) + ext
}

// reservedOnWindows reports whether Windows opens a device under the name,
// whatever its extension.
func reservedOnWindows(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimSpace(stem))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, isPort := strings.CutPrefix(stem, "COM")
	if !isPort {
		port, isPort = strings.CutPrefix(stem, "LPT")
	}
	return isPort && utf8.RuneCountInString(port) == 1 && strings.Contains("0123456789¹²³", port)
}
