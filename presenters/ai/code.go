package ai

import "strings"

// codeOf tells whether a text is code, by the name of the member that holds it
// or by its look, and in which language if the name says so.
func codeOf(key, s string) (language string, code bool) {
	switch strings.ToLower(key) {
	case "html", "css", "json", "yaml", "toml", "xml", "sql", "diff", "svg":
		return strings.ToLower(key), true
	case "patch":
		return "diff", true
	case "code", "sourcecode", "source_code", "snippet", "script", "command", "commandline",
		"stdout", "stderr", "log", "logs", "stacktrace", "traceback", "regex":
		return "", true
	}
	return "", strings.Contains(s, "\n") && looksLikeCode(s)
}

// looksLikeCode reports whether a text begins as programs and documents of
// markup do, or most of its first lines end as statements do. Prose with fenced
// code in it is not code.
func looksLikeCode(s string) bool {
	for _, start := range []string{"#!/", "#include ", "<?xml", "<!DOCTYPE", "<!doctype", "<html", "<svg", "package ", "import ", "diff --git "} {
		if strings.HasPrefix(s, start) {
			return true
		}
	}
	lines, statements := 0, 0
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			return false
		}
		if lines++; lines > 40 {
			break
		}
		if strings.ContainsRune(";{}", rune(line[len(line)-1])) {
			statements++
		}
	}
	return lines > 1 && 2*statements > lines
}

// codeSpan is a short text as code within a line.
func codeSpan(s string) string {
	s = codeText(s)
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if s == "" || s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// codeText is a line of code: visible, and without the control tokens of chat
// formats, which act wherever they stand.
func codeText(line string) string { return escapeTokens(visible(line)) }
