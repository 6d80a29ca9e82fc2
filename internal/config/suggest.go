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
	best, least := "", len(text)/3+2
	for _, k := range known {
		if d := edit.Distance(strings.ToLower(text), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}
