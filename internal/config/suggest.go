package config

import (
	"fmt"
	"strings"

	"vcphost/internal/edit"
)

// maxSuggestBytes bounds the texts that are compared.
const maxSuggestBytes = 64

// suggest names the known text that is nearest to the given one, as the end of a
// message; "" where none is near.
func suggest(text string, known []string) string {
	if len(text) > maxSuggestBytes {
		return ""
	}
	text = strings.ToLower(text)
	best, least := "", maxSuggestBytes
	for _, k := range known {
		name := strings.ToLower(k)
		// What both begin with, such as VCPHOST_, says nothing about how near they are.
		differs := len(text) - common(text, name)
		if d := edit.Distance(text, name); d < least && d < differs/3+2 {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// common is how many bytes a and b begin with alike.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
